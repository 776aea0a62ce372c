// When work that nobody waits for may go on: at once while nobody else writes, for a moment now and then while somebody does.

import { type Clock, sleep, systemClock } from '../base/clock.ts';

/** So long after their last write the others count as done. */
const QUIET_MS = 250;
/** What a slice may take, in ms, while nobody else writes and while somebody does. */
const SLICE_MS = 15;
const SHORT_SLICE_MS = 5;

/** One for all that goes into a database, whose commits all wait for each other. */
export class Pace {
  readonly #clock: Clock;
  #lastWrite = Number.NEGATIVE_INFINITY;
  #lastSlice = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Somebody writes, and waits for it: to be called when it begins, and when it has ended. */
  noteWrite(): void {
    this.#lastWrite = this.#clock.elapsed();
  }

  /** Nobody else has written for a while. */
  get isQuiet(): boolean {
    return this.#clock.elapsed() >= this.#lastWrite + QUIET_MS;
  }

  /**
   * Resolves when the next slice may begin, with how many ms it may take. While others write, slices begin `pauseMs` after each
   * other; an end of their writes is not waited for. Resolves with 0 when the signal aborts.
   */
  async slice(pauseMs: number, signal: AbortSignal): Promise<number> {
    for (;;) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (signal.aborted) return 0;
      const now = this.#clock.elapsed();
      const { isQuiet } = this;
      if (isQuiet || now >= this.#lastSlice + pauseMs) {
        this.#lastSlice = now;
        return isQuiet ? SLICE_MS : SHORT_SLICE_MS;
      }
      const until = Math.min(this.#lastWrite + QUIET_MS, this.#lastSlice + pauseMs);
      await sleep(this.#clock, until - now, signal).catch(() => {});
    }
  }
}
