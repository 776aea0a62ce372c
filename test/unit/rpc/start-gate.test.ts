// Requests start in order, and only while their answers are likely to find room.

import { expect, test } from 'vitest';
import { deferred } from '../../../src/base/signals.ts';
import { HIGH_WATER, type Outbox } from '../../../src/rpc/outbox.ts';
import { StartGate } from '../../../src/rpc/start-gate.ts';

/** An outbox that holds as many bytes as the test says. */
function outboxOf(state: { pending: number }): Outbox & { drain(): Promise<void> } {
  let room = deferred();
  const low = HIGH_WATER / 4;
  return {
    send: () => {},
    isFull: () => state.pending > HIGH_WATER,
    hasRoomFor: (bytes) => state.pending + bytes <= HIGH_WATER,
    isNearlyEmpty: () => state.pending <= low,
    hasRoom: () => (state.pending <= low ? Promise.resolve() : room.promise),
    async drain() {
      state.pending = 0;
      room.resolve();
      room = deferred();
      for (let tick = 0; tick < 2; tick += 1) await new Promise(setImmediate);
    },
  };
}

function gateOf(pending = 0) {
  const state = { pending };
  const outbox = outboxOf(state);
  const gate = new StartGate(outbox);
  const started: string[] = [];
  const answered = new Map<string, () => void>();
  const enter = (name: string, isLarge = false) =>
    gate.enter(isLarge, (done) => {
      started.push(name);
      answered.set(name, done);
    });
  return { state, outbox, gate, started, enter, answer: (name: string) => answered.get(name)!() };
}

test('few large answers are prepared at once; the next request starts when one has been given', () => {
  const { started, enter, answer } = gateOf();
  const names = Array.from({ length: 20 }, (_, index) => `large ${index}`);
  for (const name of names) enter(name, true);
  const first = started.length;
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThan(10);
  answer('large 0');
  expect(started).toEqual(names.slice(0, first + 1));
});

test('a small one does not pass a large one that waits', () => {
  const { started, enter, answer } = gateOf(HIGH_WATER - 100_000);
  enter('first');
  enter('large', true);
  enter('last');
  expect(started).toEqual(['first']);
  answer('first');
  expect(started).toEqual(['first']);
});

test('what waits for the wire starts when it has taken enough', async () => {
  const { outbox, started, enter } = gateOf(HIGH_WATER);
  enter('one');
  enter('two', true);
  expect(started).toEqual([]);
  await outbox.drain();
  expect(started).toEqual(['one', 'two']);
});

test('however many small ones are long under way, large ones go on', async () => {
  const { outbox, state, started, enter } = gateOf();
  for (let index = 0; index < 256; index += 1) enter(`long ${index}`);
  expect(started).toHaveLength(256);
  state.pending = HIGH_WATER;
  enter('large', true);
  expect(started).not.toContain('large');
  await outbox.drain();
  expect(started).toContain('large');
});

test('nothing starts once it is shut', async () => {
  const { outbox, gate, started, enter } = gateOf(HIGH_WATER);
  enter('waiting');
  gate.shut();
  enter('late');
  await outbox.drain();
  expect(started).toEqual([]);
});
