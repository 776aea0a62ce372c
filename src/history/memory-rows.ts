// Rows in memory, with the order and the transactions of the durable ones.

import { closeOnce } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import type { Key } from './keys.ts';
import type { Row, Rows } from './rows.ts';

export function openMemoryRows(): Rows {
  const rows: Row[] = [];
  let undo: (() => void)[] = [];
  let isClosed = false;

  /** Index of the first row that is not before the key. */
  const indexOf = (key: Key): number => {
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareKeys((rows[middle] as Row).key, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const find = (key: Key): { readonly index: number; readonly row: Row | undefined } => {
    const index = indexOf(key);
    const row = rows[index];
    return { index, row: row !== undefined && compareKeys(row.key, key) === 0 ? row : undefined };
  };
  const place = (key: Key, text: string | undefined) => {
    const { index, row } = find(key);
    rows.splice(index, row === undefined ? 0 : 1, ...(text === undefined ? [] : [{ key, text }]));
    return row?.text;
  };
  const change = (key: Key, text: string | undefined) => {
    const before = place(key, text);
    undo.push(() => place(key, before));
  };
  return {
    get: (key) => find(key).row?.text,
    scan({ from, to, reverse, limit, characters = Number.POSITIVE_INFINITY }) {
      const [first, end] = [indexOf(from), indexOf(to)];
      const found: Row[] = [];
      let total = 0;
      for (let step = 0; step < Math.min(limit, end - first) && total < characters; step += 1) {
        const row = rows[reverse ? end - 1 - step : first + step] as Row;
        found.push(row);
        total += row.text.length;
      }
      return found;
    },
    put: change,
    remove: (key) => change(key, undefined),
    async write(work) {
      if (isClosed) throw new AppError('unavailable', 'the history is closed');
      undo = [];
      try {
        return work();
      } catch (error) {
        for (const step of undo.reverse()) step();
        throw error;
      }
    },
    close: closeOnce(async () => {
      isClosed = true;
      rows.length = 0;
    }),
  };
}

/** The order of the database: element by element, numbers before strings, a shorter key before its continuations. */
export function compareKeys(a: Key, b: Key): number {
  for (let index = 0; index < Math.min(a.length, b.length); index += 1) {
    const [left, right] = [a[index] as string | number, b[index] as string | number];
    if (left === right) continue;
    if (typeof left !== typeof right) return typeof left === 'number' ? -1 : 1;
    return left < right ? -1 : 1;
  }
  return a.length - b.length;
}
