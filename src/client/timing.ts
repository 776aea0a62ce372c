// How long a client waits before it tries again, on a clock that keeps the process alive while it does.

import { type Clock, systemClock } from '../base/clock.ts';

/** Unlike the system's clock it keeps a process that has nothing but a waiting client. */
export const waitingClock: Clock = {
  ...systemClock,
  timer(ms, work) {
    const handle = setTimeout(work, ms);
    return () => clearTimeout(handle);
  },
};

export interface Pauses {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Doubles with each attempt, from 1; a quarter of it is chance, so that many clients do not come back at once. */
export function pauseBefore(attempt: number, { firstMs, longestMs }: Pauses): number {
  const whole = Math.min(longestMs, firstMs * 2 ** (attempt - 1));
  return whole * (0.75 + Math.random() / 4);
}
