// The words of many drafts of the index, in the order of the rows that they go to.

import type { Draft, GiveWay } from './word-documents.ts';

const SORTED_AT_ONCE = 500;

/** A word with the places of the drafts to which it was added. */
export type PlacedWord = readonly [word: string, places: number[]];

/** None of them when the work is to end. */
export async function byWord(drafts: readonly Draft[], giveWay: GiveWay): Promise<PlacedWord[]> {
  const found = new Map<string, number[]>();
  for (const [index, { added }] of drafts.entries()) {
    if (!(await giveWay())) return [];
    for (const word of added) {
      const places = found.get(word);
      if (places === undefined) found.set(word, [index]);
      else places.push(index);
    }
  }
  return [...found];
}

/** Sorted, so that neighbouring rows are written together; piece by piece, since a sort of all would hold others up. */
export function* inOrder(words: readonly PlacedWord[], depth = 0): Generator<PlacedWord> {
  const byText = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1);
  if (words.length <= SORTED_AT_ONCE) {
    yield* words.toSorted(byText);
    return;
  }
  const groups = new Map<string, PlacedWord[]>();
  for (const placed of words) {
    const next = placed[0].charAt(depth);
    const group = groups.get(next);
    if (group === undefined) groups.set(next, [placed]);
    else group.push(placed);
  }
  for (const [, group] of [...groups].sort(byText)) yield* inOrder(group, depth + 1);
}
