// Which documents have a word: lists of numbers in rows, each for a stretch of numbers, so that a row is found without looking for it.

import { below, type KeyRange, type Keys } from './keys.ts';
import type { Row, Rows } from './rows.ts';
import { escaped } from './search-index.ts';

/** Numbers that share a row. */
const STRETCH = 1024;

const stretchOf = (n: number): number => Math.floor(n / STRETCH);

/** Inside a transaction; again is harmless. */
export function post(rows: Rows, keys: Keys, word: string, numbers: readonly number[]): void {
  for (const stretch of new Set(numbers.map(stretchOf))) {
    const added = numbers.filter((n) => stretchOf(n) === stretch);
    change(rows, keys, word, stretch, (known) => [...new Set([...known, ...added])].sort((a, b) => a - b));
  }
}

/** Inside a transaction. */
export function unpost(rows: Rows, keys: Keys, word: string, n: number): void {
  change(rows, keys, word, stretchOf(n), (known) => known.filter((each) => each !== n));
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
  if (found.length > most) return undefined;
  return new Set(found.flatMap(({ key, text }: Row) => numbersIn(key.at(-1) as number, text)));
}

function change(
  rows: Rows,
  keys: Keys,
  word: string,
  stretch: number,
  after: (known: readonly number[]) => readonly number[],
): void {
  const key = keys.word(escaped(word), stretch);
  const text = rows.get(key);
  const numbers = after(text === undefined ? [] : numbersIn(stretch, text));
  if (numbers.length > 0) rows.put(key, textOf(stretch, numbers));
  else if (text !== undefined) rows.remove(key);
}

/** Empty for a damaged row. */
function numbersIn(stretch: number, text: string): number[] {
  if (text === '') return [];
  let n = stretch * STRETCH;
  return text.split(' ').map((step) => {
    n += Number.parseInt(step, 36);
    return n;
  });
}

/** As distances, each from the one before. */
function textOf(stretch: number, numbers: readonly number[]): string {
  return numbers.map((n, index) => (n - (numbers[index - 1] ?? stretch * STRETCH)).toString(36)).join(' ');
}
