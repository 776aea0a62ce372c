// Which documents have a word: lists of numbers in rows, each list short enough to be written often.

import { below, type KeyRange, type Keys } from './keys.ts';
import type { Row, Rows } from './rows.ts';
import { escaped } from './search-index.ts';

/** Numbers in a row before another begins. */
const FULL = 256;

/** Inside a transaction; again is harmless. */
export function post(rows: Rows, keys: Keys, word: string, n: number): void {
  const row = rowAt(rows, keys, word, n);
  const numbers = row === undefined ? [] : numbersIn(row);
  const last = numbers.at(-1);
  if (row === undefined || last === undefined || (numbers.length >= FULL && n > last)) {
    rows.put(keys.word(escaped(word), n), textOf(n, [n]));
    return;
  }
  if (numbers.includes(n)) return;
  const all = n > last ? [...numbers, n] : [...numbers, n].sort((a, b) => a - b);
  rows.put(row.key, textOf(row.key.at(-1) as number, all));
}

/** Inside a transaction. */
export function unpost(rows: Rows, keys: Keys, word: string, n: number): void {
  const row = rowAt(rows, keys, word, n);
  if (row === undefined) return;
  const rest = numbersIn(row).filter((each) => each !== n);
  if (rest.length === 0) rows.remove(row.key);
  else rows.put(row.key, textOf(row.key.at(-1) as number, rest));
}

/** The documents with the word, or with words that begin so; undefined when that would take more than `most` rows. */
export function documentsWith(
  rows: Rows,
  keys: Keys,
  word: string,
  isBeginning: boolean,
  most: number,
): Set<number> | undefined {
  const range: KeyRange = isBeginning
    ? { from: keys.word(escaped(word)), to: keys.word(`${escaped(word)}\uffff`) }
    : below(keys.word(escaped(word)));
  const found = rows.scan({ ...range, limit: most + 1 });
  return found.length > most ? undefined : new Set(found.flatMap(numbersIn));
}

/** The row in which the number belongs. */
function rowAt(rows: Rows, keys: Keys, word: string, n: number): Row | undefined {
  const range = { from: keys.word(escaped(word)), to: keys.word(escaped(word), n + 1) };
  return rows.scan({ ...range, reverse: true, limit: 1 })[0];
}

function numbersIn({ key, text, isDamaged }: Row): number[] {
  if (isDamaged) return [];
  let n = key.at(-1) as number;
  return text.split(' ').map((step) => {
    n += Number.parseInt(step, 36);
    return n;
  });
}

/** As distances, each from the one before. */
function textOf(base: number, numbers: readonly number[]): string {
  return numbers.map((n, index) => (n - (numbers[index - 1] ?? base)).toString(36)).join(' ');
}
