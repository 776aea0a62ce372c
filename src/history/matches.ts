// Pure: where a term lies in a text, and what is shown around it. One look at each character, whatever the term.

import { needsWordStart, WORD_START } from './words.ts';

/** Characters shown before and behind what was found, and of what was found itself. */
const AROUND = 80;
const SHOWN = 200;

const SPACE = 32;
const BEGINS_WORD = new RegExp(WORD_START, 'uy');

export interface Match {
  readonly start: number;
  readonly end: number;
}

export interface Snippet extends Match {
  /** `start` and `end` lie in it. */
  readonly text: string;
}

export interface Pattern {
  /** Code points as they are compared. */
  readonly points: readonly number[];
  /** For each beginning of the points: how long the longest shorter beginning is with which it ends. */
  readonly borders: readonly number[];
  readonly needsWordStart: boolean;
}

/** Case does not matter, and one kind of white space is as good as another. */
export function patternOf(term: string): Pattern {
  const points = Array.from(term.trim().split(/\s+/u).join(' '), (character) => folded(character.codePointAt(0)!));
  return { points, borders: bordersOf(points), needsWordStart: false };
}

/** The same, only where the index finds it: words from their beginning on. */
export function wordPatternOf(term: string): Pattern {
  return { ...patternOf(term), needsWordStart: needsWordStart(term.trim()) };
}

export function firstMatch(text: string, pattern: Pattern): Match | undefined {
  for (const match of matchesIn(text, pattern)) return match;
  return undefined;
}

/** In their order; they do not overlap. */
export function* matchesIn(text: string, pattern: Pattern): Generator<Match> {
  const { points, borders } = pattern;
  const length = points.length;
  if (length === 0) return;
  /** Where the last characters began, as many as the pattern has. */
  const starts = new Uint32Array(length);
  let count = 0;
  let matched = 0;
  let wasSpace = false;
  for (let index = 0; index < text.length; ) {
    const start = index;
    const point = text.codePointAt(index)!;
    index += point > 0xffff ? 2 : 1;
    const isSpace = isWhite(point);
    // White space of any length is one space.
    if (isSpace && wasSpace) continue;
    wasSpace = isSpace;
    starts[count % length] = start;
    count += 1;
    const sought = isSpace ? SPACE : folded(point);
    while (matched > 0 && points[matched] !== sought) matched = borders[matched - 1]!;
    if (points[matched] === sought) matched += 1;
    if (matched < length) continue;
    const match = { start: starts[count % length]!, end: index };
    const fits = !pattern.needsWordStart || beginsWord(text, match.start);
    matched = fits ? 0 : borders[length - 1]!;
    if (fits) yield match;
  }
}

/** What was found is cut when it is long. */
export function snippetOf(text: string, match: Match): Snippet {
  const end = Math.min(match.end, whole(text, match.start + SHOWN));
  const from = whole(text, Math.max(0, match.start - AROUND));
  const to = whole(text, Math.min(text.length, end + AROUND));
  return { text: text.slice(from, to), start: match.start - from, end: end - from };
}

/** A place between two characters, not inside one. */
function whole(text: string, index: number): number {
  const isInside = /[\ud800-\udbff]/.test(text[index - 1] ?? '') && /[\udc00-\udfff]/.test(text[index] ?? '');
  return isInside ? index - 1 : index;
}

function beginsWord(text: string, index: number): boolean {
  BEGINS_WORD.lastIndex = index;
  return BEGINS_WORD.test(text);
}

function bordersOf(points: readonly number[]): number[] {
  const borders = [0];
  for (let index = 1, matched = 0; index < points.length; index += 1) {
    while (matched > 0 && points[matched] !== points[index]) matched = borders[matched - 1]!;
    if (points[matched] === points[index]) matched += 1;
    borders.push(matched);
  }
  return borders;
}

function isWhite(point: number): boolean {
  if (point < 128) return point === SPACE || (point >= 9 && point <= 13);
  return point < 0x10000 && /\s/.test(String.fromCharCode(point));
}

/** Forms of the characters of the basic plane that have been met; 0: not yet. */
const forms = new Uint16Array(0x10000);

/** The form that a character shares with those that differ from it in case alone. */
function folded(point: number): number {
  if (point > 0xffff) return fold(point);
  if (forms[point] === 0) forms[point] = fold(point);
  return forms[point]!;
}

function fold(point: number): number {
  const DOTLESS_I = 0x131;
  if (point === DOTLESS_I) return point;
  return single(single(point, 'toUpperCase'), 'toLowerCase');
}

/** Characters that would become several stay as they are. */
function single(point: number, method: 'toUpperCase' | 'toLowerCase'): number {
  const text = String.fromCodePoint(point)[method]();
  const made = text.codePointAt(0)!;
  return text.length === (made > 0xffff ? 2 : 1) ? made : point;
}
