// Work of which one run goes on at a time: nothing that is asked for is left out, and no failure ends it.

import { expect, test } from 'vitest';
import { SingleRun } from '../../../src/base/single-run.ts';

/** Work whose runs end when they are told to. */
function heldWork() {
  const ends: { resolve(): void; reject(error: Error): void }[] = [];
  const failures: unknown[] = [];
  const work = () => new Promise<void>((resolve, reject) => ends.push({ resolve, reject }));
  return { ends, failures, single: new SingleRun(work, (error) => failures.push(error)) };
}

const soon = () => new Promise<void>((resolve) => setImmediate(resolve));

test('one run goes on at a time, and one more for all who ask meanwhile', async () => {
  const { ends, single } = heldWork();
  const first = single.run();
  expect([single.isRunning, ends.length]).toEqual([true, 1]);
  const during = [single.run(), single.run()];
  let isOver = false;
  void Promise.all([first, ...during]).then(() => {
    isOver = true;
  });
  ends[0]?.resolve();
  await soon();
  expect([isOver, ends.length]).toEqual([false, 2]);
  ends[1]?.resolve();
  await single.settled();
  expect([single.isRunning, ends.length]).toEqual([false, 2]);
});

test('what is asked for in the very step in which a run ends is done', async () => {
  let waiting = 0;
  let late: Promise<void> | undefined;
  const single: SingleRun = new SingleRun(
    async () => {
      waiting = 0;
      if (late) return;
      // Between the end of this run and the moment at which anybody hears of it.
      late = Promise.resolve().then(() => {
        waiting += 1;
        return single.run();
      });
    },
    () => {},
  );
  await single.run();
  await late;
  expect(waiting).toBe(0);
});

test('a run that fails is told, harms nobody who waits, and is followed by others', async () => {
  const { ends, failures, single } = heldWork();
  const first = single.run();
  ends[0]?.reject(new Error('no room'));
  await first;
  expect(failures).toEqual([new Error('no room')]);
  const second = single.run();
  ends[1]?.resolve();
  await second;
  expect([single.isRunning, failures.length]).toEqual([false, 1]);
});
