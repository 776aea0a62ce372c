// Time as an argument, so that tests wait on a clock they control.

import { cancelledBy, onAbort } from './signals.ts';

export interface Clock {
  /** Wall time in epoch milliseconds: a label, never an order. */
  now(): number;
  /** Monotonic milliseconds, for durations and deadlines. */
  elapsed(): number;
  /** Runs `work` after `ms`; the returned function cancels it. The timer does not keep the process alive. */
  timer(ms: number, work: () => void): () => void;
}

/** What a timer can wait. */
const LONGEST_MS = 2 ** 31 - 1;

/** Node has it at hand, where `performance` is loaded when it is first named: a part of a start. Browsers have only that. */
const elapsed: () => number =
  typeof process === 'object' && typeof process.hrtime === 'function'
    ? () => {
        const [seconds, nanoseconds] = process.hrtime();
        return seconds * 1_000 + nanoseconds / 1e6;
      }
    : () => performance.now();

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed,
  timer(ms, work) {
    const handle: number | NodeJS.Timeout = setTimeout(work, Math.min(ms, LONGEST_MS));
    // In browsers it is a number.
    if (typeof handle === 'object') handle.unref();
    return () => clearTimeout(handle);
  },
};

/** Settles after `ms`; rejects as *cancelled* when the signal aborts first. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(cancelledBy(signal));
      return;
    }
    let off = () => {};
    const cancel = clock.timer(ms, () => {
      off();
      resolve();
    });
    if (signal)
      off = onAbort(signal, () => {
        cancel();
        reject(cancelledBy(signal));
      });
  });
}
