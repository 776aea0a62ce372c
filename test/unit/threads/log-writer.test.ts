// The one writer of a log stands still while something is read, and is not kept from writing by many who read.

import { expect, test } from 'vitest';
import type { ThreadStore } from '../../../src/history/store.ts';
import type { StoredEvent, ThreadEvent } from '../../../src/model/event.ts';
import { LogWriter } from '../../../src/threads/log-writer.ts';
import { ManualClock } from '../transports/manual-clock.ts';

const soon = () => new Promise<void>((resolve) => setImmediate(resolve));
const event = { type: 'titleChanged', title: 'one' } as unknown as ThreadEvent;

function stage() {
  const stored: StoredEvent[] = [];
  const store = {
    append: async (_id: string, expected: number, events: readonly unknown[]) => {
      await soon();
      return expected + events.length;
    },
  } as unknown as ThreadStore;
  const committed = (batch: readonly StoredEvent[]) => void stored.push(...batch);
  const parts = { store, threadId: 't', clock: new ManualClock(), committed, failed: () => {} };
  return { writer: new LogWriter(parts, 0), stored };
}

/** Long enough for any commit that is not kept waiting. */
async function aWhile(): Promise<void> {
  for (let rounds = 0; rounds < 20; rounds += 1) await soon();
}

test('nothing is committed in a pause, and all of it afterwards, in order', async () => {
  const { writer, stored } = stage();
  const before = writer.append([event]);
  const all: Promise<number>[] = [before];
  await soon(); // the first commit is under way
  await writer.paused(async () => {
    await before;
    const { length } = stored;
    all.push(writer.append([event]), writer.append([event]));
    await aWhile();
    expect(stored).toHaveLength(length);
  });
  expect(await Promise.all(all)).toEqual([1, 3, 3]);
  expect(stored.map(({ seq }) => seq)).toEqual([1, 2, 3]);
});

test('pauses without end let what waits be committed in between', async () => {
  const { writer } = stage();
  let isOver = false;
  const readers = Array.from({ length: 5 }, async (_, reader) => {
    for (let rounds = 0; rounds <= reader; rounds += 1) await soon();
    while (!isOver) await writer.paused(aWhile);
  });
  await aWhile();
  await writer.append([event]);
  await writer.append([event]);
  isOver = true;
  await Promise.all(readers);
  expect(writer.head).toBe(2);
});

test('work that fails ends its pause', async () => {
  const { writer } = stage();
  let late: Promise<number> | undefined;
  await expect(
    writer.paused(async () => {
      late = writer.append([event]);
      throw new Error('it cannot be read');
    }),
  ).rejects.toThrow('it cannot be read');
  expect(await late).toBe(1);
});
