// The model's view of the threads that were busy last, so that a turn does not read a long history again.

import type { ContextItem } from '../model/context.ts';

/** Threads whose view is kept. */
const MAX_THREADS = 16;
/** Characters above which a view is read from the store each time. */
const MAX_CHARACTERS = 2 * 1024 * 1024;

interface Entry {
  readonly items: ContextItem[];
  size: number;
}

const sizeOf = (items: readonly ContextItem[]): number =>
  items.reduce((sum, item) => sum + JSON.stringify(item).length, 0);

export class ContextCache {
  /** The thread that was used last comes last. */
  readonly #entries = new Map<object, Entry>();

  /** The view of a thread as far as it was accepted; `read` gets what is stored. */
  async get(thread: object, read: () => Promise<readonly ContextItem[]>): Promise<readonly ContextItem[]> {
    const known = this.#entries.get(thread);
    if (known) {
      this.#entries.delete(thread);
      this.#entries.set(thread, known);
      return [...known.items];
    }
    const items = [...(await read())];
    this.#keep(thread, { items, size: sizeOf(items) });
    return [...items];
  }

  /** What was accepted into the view of a thread. */
  add(thread: object, items: readonly ContextItem[]): void {
    const known = this.#entries.get(thread);
    if (!known) return;
    known.items.push(...items);
    known.size += sizeOf(items);
    if (known.size > MAX_CHARACTERS) this.#entries.delete(thread);
  }

  /** The view is no longer the old one with something added. */
  drop(thread: object): void {
    this.#entries.delete(thread);
  }

  #keep(thread: object, entry: Entry): void {
    if (entry.size > MAX_CHARACTERS) return;
    this.#entries.set(thread, entry);
    const oldest = this.#entries.keys().next().value;
    if (this.#entries.size > MAX_THREADS && oldest) this.#entries.delete(oldest);
  }
}
