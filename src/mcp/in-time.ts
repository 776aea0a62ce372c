// What others are asked, for so long and no longer than we want it.

import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { deferred, unlessAborted } from '../base/signals.ts';

/** Settles as `work` does; rejects as *unavailable* after `ms`, as *cancelled* when the signal aborts. The work itself goes on. */
export async function inTime<T>(work: Promise<T>, ms: number, clock: Clock, signal: AbortSignal): Promise<T> {
  const late = deferred<never>();
  late.promise.catch(() => {});
  const stop = clock.timer(ms, () => late.reject(new AppError('unavailable', `timed out after ${ms / 1000} seconds`)));
  try {
    return await unlessAborted(Promise.race([work, late.promise]), signal);
  } finally {
    stop();
  }
}
