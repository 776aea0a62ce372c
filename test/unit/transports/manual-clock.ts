// A clock that stands still until a test moves it.

import type { Clock } from '../../../src/base/clock.ts';

export class ManualClock implements Clock {
  #elapsed = 0;
  #start: number;
  readonly #timers = new Set<{ at: number; work: () => void }>();

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#start = start;
  }

  now(): number {
    return this.#start + this.#elapsed;
  }

  elapsed(): number {
    return this.#elapsed;
  }

  get timers(): number {
    return this.#timers.size;
  }

  timer(ms: number, work: () => void): () => void {
    const entry = { at: this.#elapsed + ms, work };
    this.#timers.add(entry);
    return () => this.#timers.delete(entry);
  }

  /** Moves on and runs what falls due, in order; timers made meanwhile run too when their time comes. */
  advance(ms: number): void {
    const until = this.#elapsed + ms;
    for (;;) {
      const [due] = [...this.#timers].filter((entry) => entry.at <= until).sort((a, b) => a.at - b.at);
      if (!due) break;
      this.#timers.delete(due);
      this.#elapsed = Math.max(this.#elapsed, due.at);
      due.work();
    }
    this.#elapsed = until;
  }
}
