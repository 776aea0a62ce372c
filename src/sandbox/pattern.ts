// Pure: patterns of paths, such as `**/*.key`, and which paths they match.

import { join, relative } from 'node:path';
import { isNamed, type NamePattern, namePattern, TOKENS, unescaped } from './name-pattern.ts';

/** What one name of a path has to be like; `any`: any number of names, also none. */
type Part = 'any' | NamePattern;

export interface Pattern {
  /** As people wrote it. */
  readonly text: string;
  /** The absolute folder that it begins in, taken literally. */
  readonly base: string;
  readonly parts: readonly Part[];
}

/** What braces may be written out to. */
const MAX_WRITTEN_OUT = 64;

const SPECIAL = /[*?[\]]|\{.*,/s;

/** Something in it, but what is escaped, is to be taken as a pattern. */
export const isPattern = (path: string): boolean => SPECIAL.test(path.replace(/\\./gs, ''));

/** What a path that is no pattern names; a `\` is meant literally where nothing else could be taken as a pattern. */
export const literalOf = (path: string): string => (SPECIAL.test(path) ? unescaped(path) : path);

/**
 * `text` is relative to `folder`, or absolute; one for each way in which its braces can be written out. Throws an `Error` that says
 * what is not understood: a pattern that matched nothing would deny nothing.
 */
export function readPatterns(text: string, folder = '/'): Pattern[] {
  const start = startOf(text);
  const names = namesOf(text.slice(0, start));
  const base = join(folder, ...names);
  return writtenOut(text.slice(start)).map((each) => ({ text, base, parts: partsOf(each) }));
}

/** Where the first name begins that is no literal one: braces may hold slashes. */
function startOf(text: string): number {
  for (const { 0: token, index } of text.matchAll(TOKENS))
    if (/^[*?[\]{}]/.test(token)) return text.lastIndexOf('/', index) + 1;
  return text.lastIndexOf('/') + 1;
}

function namesOf(text: string): readonly string[] {
  const names = text.split('/').filter((name) => name !== '');
  if (names.some((name) => unescaped(name) === '..')) throw new Error('`..` in a pattern');
  for (const name of names) if (/^(?:[^\\]|\\.)*\\$/s.test(name)) throw new Error('`\\` without what belongs to it');
  return names.map(unescaped).filter((name) => name !== '.');
}

/** The path, or a folder that it lies in, is matched. */
export function matches(pattern: Pattern, path: string): boolean {
  const way = relative(pattern.base, path);
  if (way === '' || way === '..' || way.startsWith('../')) return false;
  let states = START;
  for (const name of way.split('/')) {
    states = step(pattern, states, name).all;
    if (states.includes(pattern.parts.length)) return true;
    if (states.length === 0) return false;
  }
  return false;
}

/** How many parts are behind, in all ways in which the names so far can be read. */
export type States = readonly number[];
export const START: States = [0];

/** `exact`: without those in which the name is one of any number. */
export function step(
  { parts }: Pattern,
  states: States,
  name: string,
): { readonly all: States; readonly exact: States } {
  const open = new Set<number>();
  for (let state of states) {
    open.add(state);
    while (parts[state] === 'any') open.add(++state);
  }
  const exact = [...open].filter((state) => isPart(parts[state], name)).map((state) => state + 1);
  const kept = [...open].filter((state) => parts[state] === 'any');
  return { all: [...new Set([...kept, ...exact])], exact };
}

const isPart = (part: Part | undefined, name: string): boolean =>
  part !== undefined && part !== 'any' && isNamed(part, name);

function partsOf(text: string): Part[] {
  namesOf(text);
  const names = text.split('/').filter((name) => name !== '' && unescaped(name) !== '.');
  if (names.length === 0) throw new Error('braces with a choice that names nothing');
  // Of a folder all that lies in it, not the folder itself.
  if (names.at(-1) === '**') names.push('*');
  return names.map((name) => (name === '**' ? 'any' : namePattern(name)));
}

/** `{a,b}` is `a` and `b`. */
function writtenOut(text: string): string[] {
  const done: string[] = [];
  const open = [text];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const found = outermostBraces(next);
    if (!found) done.push(next);
    else for (const each of found.choices) open.push(found.before + each + found.after);
    if (done.length + open.length > MAX_WRITTEN_OUT) throw new Error('braces that come to too much');
  }
  return done;
}

interface Braces {
  readonly before: string;
  readonly choices: readonly string[];
  readonly after: string;
}

function outermostBraces(text: string): Braces | undefined {
  const choices: string[] = [];
  let depth = 0;
  let first = 0;
  let begun = 0;
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    if (token === '{' && ++depth === 1) [first, begun] = [index, index + 1];
    if (depth === 1 && (token === ',' || token === '}')) {
      choices.push(text.slice(begun, index));
      begun = index + 1;
    }
    if (token === '}' && --depth === 0) {
      if (choices.length < 2) throw new Error('braces without a choice');
      return { before: text.slice(0, first), choices, after: text.slice(index + 1) };
    }
    if (depth < 0) break;
  }
  if (depth !== 0) throw new Error('braces that do not belong together');
  return undefined;
}
