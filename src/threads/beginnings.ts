// Threads that are being begun: one beginning of an id at a time, and whoever wants to load it waits for that.

import { deferred } from '../base/signals.ts';

export class Beginnings {
  readonly #underWay = new Map<string, Promise<void>>();

  /** Settles when no beginning of this thread is under way; never rejects. */
  async ended(key: string): Promise<void> {
    await this.#underWay.get(key);
  }

  /** Rejects with `taken` while another one of the same key is under way. */
  async run<T>(key: string, taken: Error, begin: () => Promise<T>): Promise<T> {
    if (this.#underWay.has(key)) throw taken;
    const ended = deferred();
    this.#underWay.set(key, ended.promise);
    try {
      return await begin();
    } finally {
      this.#underWay.delete(key);
      ended.resolve();
    }
  }
}
