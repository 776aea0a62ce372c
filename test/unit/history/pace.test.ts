// Work that nobody waits for: it gives way while others write, never for ever, and goes on at full speed behind them.

import { beforeEach, expect, it } from 'vitest';
import { Pace } from '../../../src/history/pace.ts';
import { ManualClock } from '../transports/manual-clock.ts';

let clock: ManualClock;
let pace: Pace;
let work: AbortController;

beforeEach(() => {
  clock = new ManualClock();
  pace = new Pace(clock);
  work = new AbortController();
});

/** What is ready to go on has gone on. */
const settled = async () => {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** Takes slice after slice; gives when each began, and how many ms it had. */
function slices(pauseMs: number): { readonly begun: { atMs: number; ms: number }[]; readonly over: Promise<void> } {
  const begun: { atMs: number; ms: number }[] = [];
  const loop = async () => {
    for (;;) {
      const ms = await pace.slice(pauseMs, work.signal);
      if (ms === 0) return;
      begun.push({ atMs: clock.elapsed(), ms });
      // Time passes by the clock alone: without it, work at full speed would not end.
      await new Promise<void>((resolve) => clock.timer(ms, resolve));
    }
  };
  return { begun, over: loop() };
}

async function pass(ms: number, isWriting: boolean): Promise<void> {
  for (let passed = 0; passed < ms; passed += 5) {
    if (isWriting) pace.noteOthers();
    await settled();
    clock.advance(5);
  }
  await settled();
}

it('goes slice after slice while nobody writes', async () => {
  const { begun, over } = slices(500);
  await pass(150, false);
  expect(begun.length).toBeGreaterThanOrEqual(10);
  work.abort();
  await pass(20, false);
  await over;
});

it('takes one short slice in each pause, however long others go on', async () => {
  const whole = await pace.slice(500, work.signal);
  pace.noteOthers();
  const { begun, over } = slices(500);
  await pass(5000, true);
  expect(begun.map(({ atMs }) => atMs)).toEqual([500, 1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500, 5000]);
  expect(new Set(begun.map(({ ms }) => ms < whole))).toEqual(new Set([true]));
  work.abort();
  await pass(20, false);
  await over;
});

it('goes on at full speed when the others have ended, without waiting for the end of the pause', async () => {
  const whole = await pace.slice(60_000, work.signal);
  await pass(100, true);
  const { begun, over } = slices(60_000);
  await pass(1000, false);
  expect(begun.length).toBeGreaterThan(10);
  expect(begun.every(({ ms }) => ms === whole)).toBe(true);
  work.abort();
  await pass(20, false);
  await over;
});

it('ends while it waits', async () => {
  await pace.slice(60_000, work.signal);
  pace.noteOthers();
  const waiting = pace.slice(60_000, work.signal);
  await settled();
  work.abort();
  expect(await waiting).toBe(0);
});
