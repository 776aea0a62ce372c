// Waiting for an abort: each once, in order, none left behind, however many.

import { expect, it } from 'vitest';
import { onAbort, unlessAborted } from '../../../src/base/signals.ts';

it('runs what waits, once and in order, without what was taken away', () => {
  const controller = new AbortController();
  const ran: number[] = [];
  const offs = Array.from({ length: 30 }, (_, index) => onAbort(controller.signal, () => ran.push(index)));
  for (const off of offs.slice(1, 29)) off();
  controller.abort();
  controller.abort();
  offs[0]?.();
  expect(ran).toEqual([0, 29]);
  onAbort(controller.signal, () => ran.push(99));
  expect(ran).toEqual([0, 29, 99]);
});

it('takes away what another one that waited takes away', () => {
  const controller = new AbortController();
  const ran: string[] = [];
  const offs: (() => void)[] = [];
  onAbort(controller.signal, () => offs[0]?.());
  offs.push(onAbort(controller.signal, () => ran.push('second')));
  onAbort(controller.signal, () => ran.push('third'));
  controller.abort();
  expect(ran).toEqual(['third']);
});

it('has one listener for many that wait, and none when none waits any more', async () => {
  const { signal } = new AbortController();
  let listeners = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = ((...args: Parameters<typeof add>) => {
    listeners += 1;
    add(...args);
  }) as typeof signal.addEventListener;
  signal.removeEventListener = ((...args: Parameters<typeof remove>) => {
    listeners -= 1;
    remove(...args);
  }) as typeof signal.removeEventListener;
  const promises = Array.from({ length: 20 }, (_, index) => unlessAborted(Promise.resolve(index), signal));
  expect(listeners).toBe(1);
  await Promise.all(promises);
  expect(listeners).toBe(0);
  onAbort(signal, () => {})();
  expect(listeners).toBe(0);
});
