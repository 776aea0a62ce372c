// Pure: where a term lies in a text, and what is shown around it.

import { needsWordStart, WORD_START } from './words.ts';

/** Characters shown before and behind what was found. */
const AROUND = 80;

export interface Match {
  readonly start: number;
  readonly end: number;
}

export interface Snippet extends Match {
  /** `start` and `end` lie in it. */
  readonly text: string;
}

/** Case does not matter, and one kind of white space is as good as another. */
export function patternOf(term: string): RegExp {
  const literal = term
    .trim()
    .split(/\s+/u)
    .map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
    .join('\\s+');
  return new RegExp(literal, 'giu');
}

/** The same, only where the index finds it: words from their beginning on. */
export function wordPatternOf(term: string): RegExp {
  const pattern = patternOf(term);
  return needsWordStart(term.trim()) ? new RegExp(`${WORD_START}${pattern.source}`, pattern.flags) : pattern;
}

export function firstMatch(text: string, pattern: RegExp): Match | undefined {
  for (const match of matchesIn(text, pattern)) return match;
  return undefined;
}

/** In their order; they do not overlap. */
export function* matchesIn(text: string, pattern: RegExp): Generator<Match> {
  for (const match of text.matchAll(pattern)) {
    if (match[0] !== '') yield { start: match.index, end: match.index + match[0].length };
  }
}

export function snippetOf(text: string, match: Match): Snippet {
  const from = whole(text, Math.max(0, match.start - AROUND));
  const to = whole(text, Math.min(text.length, match.end + AROUND));
  return { text: text.slice(from, to), start: match.start - from, end: match.end - from };
}

/** A place between two characters, not inside one. */
function whole(text: string, index: number): number {
  const isInside = /[\ud800-\udbff]/.test(text[index - 1] ?? '') && /[\udc00-\udfff]/.test(text[index] ?? '');
  return isInside ? index - 1 : index;
}
