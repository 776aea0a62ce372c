// When work that nobody waits for may go on: at once while others rest, for a moment now and then while they do not.

import { type Clock, sleep, systemClock } from '../base/clock.ts';

/** So long after they were last heard of the others count as done. */
const QUIET_MS = 250;
/** What a slice may take, in ms, while others rest and while they do not. */
const SLICE_MS = 15;
const SHORT_SLICE_MS = 5;

/** One for all that goes into a database, whose commits all wait for each other. */
export class Pace {
  readonly #clock: Clock;
  #lastOthers = Number.NEGATIVE_INFINITY;
  #lastSlice = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Somebody writes or looks for something, and waits for it: to be called when that begins, and of a write when it has ended. */
  noteOthers(): void {
    this.#lastOthers = this.#clock.elapsed();
  }

  /** Nothing has been heard of others for a while. */
  get isQuiet(): boolean {
    return this.#clock.elapsed() >= this.#lastOthers + QUIET_MS;
  }

  /**
   * Resolves when the next slice may begin, with how many ms it may take. While others work, slices begin `pauseMs` after each
   * other: never is their end waited for. Resolves with 0 when the signal aborts.
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
      const until = Math.min(this.#lastOthers + QUIET_MS, this.#lastSlice + pauseMs);
      await sleep(this.#clock, until - now, signal).catch(() => {});
    }
  }
}
