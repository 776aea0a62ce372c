// A queue with one reader: what has been pushed and not taken waits; after the end the rest is still read.

import { type Deferred, deferred } from '../base/signals.ts';
import { failure } from './errors.ts';

/** Values that may wait for their reader. */
export const MAX_WAITING = 65_536;

export class Subscription<T> implements AsyncIterableIterator<T> {
  readonly #left: () => void;
  readonly #limit: number;
  #waiting: T[] = [];
  #head = 0;
  #readers: Deferred<void>[] = [];
  #end: { readonly error?: unknown } | undefined;

  /** `left` runs when the reader stops reading. A reader that is more than `limit` values behind is told so instead of the rest. */
  constructor(left: () => void, limit = MAX_WAITING) {
    this.#left = left;
    this.#limit = limit;
  }

  push(value: T): void {
    if (this.#end) return;
    if (this.#waiting.length - this.#head >= this.#limit) {
      this.#forget();
      this.end(failure('overloaded', `this reader fell more than ${this.#limit} messages behind`));
      this.#left();
      return;
    }
    this.#waiting.push(value);
    this.#readers.shift()?.resolve();
  }

  /** With an error the reader is thrown it, after the rest. */
  end(error?: unknown): void {
    this.#end ??= error === undefined ? {} : { error };
    for (const reader of this.#readers.splice(0)) reader.resolve();
  }

  async next(): Promise<IteratorResult<T>> {
    while (this.#head === this.#waiting.length && !this.#end) {
      const reader = deferred();
      this.#readers.push(reader);
      await reader.promise;
    }
    if (this.#head < this.#waiting.length) return { done: false, value: this.#take() };
    const { error } = this.#end ?? {};
    if (error === undefined) return { done: true, value: undefined };
    this.#end = {};
    throw error;
  }

  async return(): Promise<IteratorResult<T>> {
    this.#forget();
    this.#end = {};
    this.end();
    this.#left();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): T {
    const value = this.#waiting[this.#head] as T;
    this.#head += 1;
    if (this.#head === this.#waiting.length) this.#forget();
    return value;
  }

  #forget(): void {
    this.#waiting = [];
    this.#head = 0;
  }
}
