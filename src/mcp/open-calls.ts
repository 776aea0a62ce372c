// The calls of one server that are under way, so that what it asks people in the course of them ends with them.

import { deferred, onAbort } from '../base/signals.ts';

export class OpenCalls {
  readonly #open = new Set<Promise<void>>();

  /** A call that is stopped by the signal is over at once, however long its server takes to notice. */
  async run<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    const over = deferred();
    const free = onAbort(signal, over.resolve);
    this.#open.add(over.promise);
    try {
      return await call();
    } finally {
      free();
      over.resolve();
      this.#open.delete(over.promise);
    }
  }

  /** Aborts once none of the calls is under way that are so now; never, where there are none. */
  get end(): AbortSignal {
    const end = new AbortController();
    const open = [...this.#open];
    if (open.length > 0) void Promise.all(open).then(() => end.abort());
    return end.signal;
  }
}
