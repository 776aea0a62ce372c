// The calls of one server that are under way, so that what it asks people in the course of them ends with them.

import { deferred, onAbort } from '../base/signals.ts';
import type { ItemId } from '../model/ids.ts';

/** Who asks a server for something. */
export interface Caller {
  readonly signal: AbortSignal;
  /** The item of a turn that shows it; absent: no turn asks. */
  readonly itemId?: ItemId;
}

interface OpenCall {
  readonly itemId: ItemId | undefined;
  readonly over: Promise<void>;
  isOver: boolean;
}

/** What a question belongs to, as far as anybody can tell: servers do not say in the course of which call they ask. */
export interface AskedDuring {
  /** Of the calls that are under way; undefined for one that no turn makes. */
  readonly calls: readonly (ItemId | undefined)[];
  /** Aborts once none of them is under way any more; never, where there are none. */
  readonly end: AbortSignal;
}

export class OpenCalls {
  readonly #open = new Set<OpenCall>();

  /** A call that is stopped by the signal is over at once, however long its server takes to notice. */
  async run<T>({ signal, itemId }: Caller, call: () => Promise<T>): Promise<T> {
    const over = deferred();
    const open: OpenCall = { itemId, over: over.promise, isOver: false };
    const end = () => {
      open.isOver = true;
      over.resolve();
    };
    this.#open.add(open);
    const free = onAbort(signal, end);
    try {
      return await call();
    } finally {
      free();
      end();
      this.#open.delete(open);
    }
  }

  get now(): AskedDuring {
    const all = [...this.#open];
    const calls = all.filter(({ isOver }) => !isOver).map(({ itemId }) => itemId);
    // What a call asks that has been stopped is asked for nobody.
    if (all.length > 0 && calls.length === 0) return { calls, end: AbortSignal.abort() };
    const end = new AbortController();
    if (all.length > 0) void Promise.all(all.map(({ over }) => over)).then(() => end.abort());
    return { calls, end: end.signal };
  }
}
