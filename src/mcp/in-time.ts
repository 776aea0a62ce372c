// What others are asked, for so long and no longer than we want it.

import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { deferred, unlessAborted } from '../base/signals.ts';

/**
 * Settles as `work` does; rejects as *unavailable* after `ms`, as *cancelled* when the signal aborts. The work itself goes on. While
 * it `isAsking` people its time does not run out.
 */
export async function inTime<T>(
  work: Promise<T>,
  ms: number,
  clock: Clock,
  signal: AbortSignal,
  isAsking = () => false,
): Promise<T> {
  const late = deferred<never>();
  late.promise.catch(() => {});
  let stop = () => {};
  const wait = () => {
    const over = () => late.reject(new AppError('unavailable', `timed out after ${ms / 1000} seconds`));
    stop = clock.timer(ms, () => (isAsking() ? wait() : over()));
  };
  wait();
  try {
    return await unlessAborted(Promise.race([work, late.promise]), signal);
  } finally {
    stop();
  }
}
