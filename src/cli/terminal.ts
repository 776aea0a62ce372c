// Text for people: safe to show on a terminal, coloured where there is one, folded to its width.

import type { WriteStream } from 'node:tty';

export type Style = 'dim' | 'bold' | 'red' | 'yellow';

const CODES: Readonly<Record<Style, readonly [number, number]>> = {
  dim: [2, 22],
  bold: [1, 22],
  red: [31, 39],
  yellow: [33, 39],
};

/** Widest text that is easy to read, in characters. */
export const WIDEST = 100;

export type Paint = (style: Style, text: string) => string;

/** Colours on a terminal, unless `NO_COLOR` is set or the terminal is a dumb one. */
export function paintFor(
  stream: Pick<WriteStream, 'isTTY'>,
  environment: Readonly<Record<string, string | undefined>>,
): Paint {
  const isColoured = stream.isTTY === true && !environment.NO_COLOR && environment.TERM !== 'dumb';
  return (style, text) => (isColoured ? `\u001b[${CODES[style][0]}m${text}\u001b[${CODES[style][1]}m` : text);
}

const DEFAULT_WIDTH = 80;
const NARROWEST = 20;

/** Characters in a line for people; not more than are easy to read, and 80 where there is no terminal. */
export function widthOf({ columns }: Pick<WriteStream, 'columns'>): number {
  return Math.max(NARROWEST, Math.min(columns || DEFAULT_WIDTH, WIDEST));
}

/** Columns of the terminal behind the stream; without one lines may be as long as they are. */
export function roomOf({ isTTY, columns }: Pick<WriteStream, 'isTTY' | 'columns'>): number {
  return isTTY && columns ? Math.max(NARROWEST, columns) : Number.POSITIVE_INFINITY;
}

const MARK = /^\p{M}$/u;
/** Of these scripts and signs each character takes two columns. */
const WIDE =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]$/u;

const columnsOf = (character: string): number => (MARK.test(character) ? 0 : WIDE.test(character) ? 2 : 1);

/** The beginning that fits, with a sign where something is left out. */
export function cut(text: string, columns: number): string {
  const characters = [...text];
  let used = 0;
  let besideSign = 0;
  for (const [at, character] of characters.entries()) {
    used += columnsOf(character);
    if (used > columns) return `${characters.slice(0, besideSign).join('')}…`;
    if (used < columns) besideSign = at + 1;
  }
  return text;
}

/** Control characters, escape sequences among them, and marks that reorder text; newlines and tabs are neither. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** What came from a model or a command, with everything that a terminal would obey or hide made visible. */
export function visible(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(HIDDEN, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Lines of at most `width` characters, broken at blanks where there are any. */
export function folded(text: string, width: number): readonly string[] {
  return text.split('\n').flatMap((line) => {
    const lines: string[] = [];
    let rest = line;
    while (rest.length > width) {
      const blank = rest.lastIndexOf(' ', width);
      const end = blank > 0 ? blank : width;
      lines.push(rest.slice(0, end));
      rest = rest.slice(blank > 0 ? end + 1 : end);
    }
    return [...lines, rest];
  });
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
