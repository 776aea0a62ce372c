// Pure: the words of a text as the index has them, and those that a search needs.

/** Code units of a word; the rest of a longer one does not count. */
const LONGEST = 40;

const RUNS = /[\p{L}\p{N}\p{M}]+/gu;
/** Scripts that put no space between words: every two neighbouring characters count as one. */
const SPACELESS =
  '\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Hangul}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}';
const PARTS = new RegExp(`([${SPACELESS}]+)|[^${SPACELESS}]+`, 'gu');

/** As a part of a pattern: not behind a character of the same word. */
export const WORD_START = `(?<!(?![${SPACELESS}])[\\p{L}\\p{N}\\p{M}])`;
const BEGINS_INSIDE = new RegExp(`^(?:[${SPACELESS}]|[^\\p{L}\\p{N}\\p{M}])`, 'u');

/** Whether the index finds the term only at the beginning of a word. */
export const needsWordStart = (term: string): boolean => !BEGINS_INSIDE.test(term);

interface Part {
  readonly text: string;
  readonly isSpaceless: boolean;
}

/** Words that a text has to have, in the form of the index, and the beginnings of words. */
export interface Wanted {
  readonly words: readonly string[];
  readonly beginnings: readonly string[];
}

/** Adds the words of a text to those that are there. */
export function addWords(text: string, words: Set<string>): void {
  for (const part of partsOf(text)) {
    if (!part.isSpaceless) words.add(part.text.slice(0, LONGEST));
    else for (const pair of pairsOf(part.text, true)) words.add(pair);
  }
}

/** What is needed to find a term that begins at the beginning of a word; its last word may be unfinished. */
export function wantedOf(term: string): Wanted {
  const parts = [...partsOf(term)];
  const isUnfinished = /[\p{L}\p{N}\p{M}]$/u.test(term);
  const [words, beginnings] = [new Set<string>(), new Set<string>()];
  for (const [index, { text, isSpaceless }] of parts.entries()) {
    const pairs = isSpaceless ? pairsOf(text, false) : [];
    if (pairs.length > 0) for (const pair of pairs) words.add(pair);
    else if (isSpaceless || (isUnfinished && index === parts.length - 1)) beginnings.add(text.slice(0, LONGEST));
    else words.add(text.slice(0, LONGEST));
  }
  return { words: [...words], beginnings: [...beginnings] };
}

function* partsOf(text: string): Generator<Part> {
  for (const [run] of text.normalize('NFKC').toLowerCase().matchAll(RUNS))
    for (const [part, spaceless] of run.matchAll(PARTS)) yield { text: part, isSpaceless: spaceless !== undefined };
}

/** `isWhole`: the last character too, so that every character begins a word. */
function pairsOf(text: string, isWhole: boolean): string[] {
  const characters = Array.from(text);
  const pairs = characters.slice(0, -1).map((character, index) => `${character}${characters[index + 1]}`);
  return isWhole ? [...pairs, characters.at(-1) as string] : pairs;
}
