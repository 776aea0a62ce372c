// Rows in memory, with the order and the transactions of the durable ones.

import { AppError } from '../base/errors.ts';
import { compareKeys, type Key } from './keys.ts';
import { Pace } from './pace.ts';
import type { Row, Rows, Scan, Transfer } from './rows.ts';

const BATCH_ROWS = 1000;

export class MemoryRows implements Rows {
  /** Nobody waits for a disk here. */
  readonly pace = new Pace();
  readonly #rows: Row[] = [];
  #undo: (() => void)[] = [];
  #isClosed = false;

  get(key: Key): string | undefined {
    return this.#find(key).row?.text;
  }

  scan({ from, to, reverse, limit, characters = Number.POSITIVE_INFINITY }: Scan): Row[] {
    const [first, end] = [this.#indexOf(from), this.#indexOf(to)];
    const found: Row[] = [];
    let total = 0;
    for (let step = 0; step < Math.min(limit, end - first) && total < characters; step += 1) {
      const row = this.#rows[reverse ? end - 1 - step : first + step] as Row;
      found.push(row);
      total += row.text.length;
    }
    return found;
  }

  put(key: Key, text: string): void {
    this.#change(key, text);
  }

  remove(key: Key): void {
    this.#change(key, undefined);
  }

  transfer(from: Key, to: Key): Transfer {
    return {
      read: async (range) => {
        const rows = this.scan({ ...range, limit: BATCH_ROWS });
        const texts = rows.map(({ text }) => Buffer.from(text));
        return {
          length: rows.length,
          isDamaged: false,
          key: (index) => (rows[index] as Row).key,
          text: (index) => texts[index] as Buffer,
          changed: () => {},
          put: (index) => this.put([...to, ...(rows[index] as Row).key.slice(from.length)], String(texts[index])),
        };
      },
    };
  }

  async write<T>(work: () => T): Promise<T> {
    if (this.#isClosed) throw new AppError('unavailable', 'the history is closed');
    this.#undo = [];
    try {
      return work();
    } catch (error) {
      for (const step of this.#undo.reverse()) step();
      throw error;
    }
  }

  writePart<T>(work: () => T): Promise<T> {
    return this.write(work);
  }

  writeAside<T>(work: () => T): Promise<T> {
    return this.write(work);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rows.length = 0;
  }

  #change(key: Key, text: string | undefined): void {
    const before = this.#place(key, text);
    this.#undo.push(() => this.#place(key, before));
  }

  /** Puts or removes; gives what was there. */
  #place(key: Key, text: string | undefined): string | undefined {
    const { index, row } = this.#find(key);
    this.#rows.splice(index, row === undefined ? 0 : 1, ...(text === undefined ? [] : [{ key, text }]));
    return row?.text;
  }

  #find(key: Key): { readonly index: number; readonly row: Row | undefined } {
    const index = this.#indexOf(key);
    const row = this.#rows[index];
    return { index, row: row !== undefined && compareKeys(row.key, key) === 0 ? row : undefined };
  }

  /** Index of the first row that is not before the key. */
  #indexOf(key: Key): number {
    let [low, high] = [0, this.#rows.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareKeys((this.#rows[middle] as Row).key, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
