// One thing at a time: work that is handed in runs in order, each piece after the last has settled.

import { AppError } from './errors.ts';

export class Mailbox {
  #tail: Promise<unknown> = Promise.resolve();
  #closed = false;
  #waiting = 0;

  /** Runs `work` after everything handed in before it; settles as `work` does. Rejects as *unavailable* once closed. */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new AppError('unavailable', 'this object is closed'));
    this.#waiting += 1;
    const result = this.#tail.then(work);
    this.#tail = result
      .catch(() => {})
      .then(() => {
        this.#waiting -= 1;
      });
    return result;
  }

  get isIdle(): boolean {
    return this.#waiting === 0;
  }

  /** Takes no more work; settles when what was handed in has run. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#tail;
  }
}
