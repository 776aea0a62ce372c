// Pure: patterns of paths, such as `**/*.key`, and which paths they match.

import { join, relative } from 'node:path';

/** What one name of a path has to be like; `any`: any number of names, also none. */
type Part = 'any' | RegExp;

export interface Pattern {
  /** As people wrote it. */
  readonly text: string;
  /** The absolute folder that it begins in, taken literally. */
  readonly base: string;
  readonly parts: readonly Part[];
}

/** What braces may be written out to. */
const MAX_WRITTEN_OUT = 64;

export const isPattern = (path: string): boolean => /[*?[\]]|\{[^/]*,/.test(path);

/**
 * `text` is relative to `folder`, or absolute; one for each way in which its braces can be written out. Throws an `Error` that says
 * what is not understood: a pattern that matched nothing would deny nothing.
 */
export function readPatterns(text: string, folder = '/'): Pattern[] {
  const names = text.split('/');
  if (names.includes('..')) throw new Error('`..` in a pattern');
  const start = names.findIndex(isPattern);
  const base = join(folder, ...names.slice(0, start).map(unescaped));
  return writtenOut(names.slice(start).join('/')).map((each) => ({ text, base, parts: partsOf(each) }));
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
  const exact = [...open].filter((state) => isNamed(parts[state], name)).map((state) => state + 1);
  const kept = [...open].filter((state) => parts[state] === 'any');
  return { all: [...new Set([...kept, ...exact])], exact };
}

const isNamed = (part: Part | undefined, name: string): boolean => part instanceof RegExp && part.test(name);

function partsOf(text: string): Part[] {
  const names = text.split('/').filter((name) => name !== '' && name !== '.');
  // Of a folder all that lies in it, not the folder itself.
  if (names.at(-1) === '**') names.push('*');
  return names.map((name) => (name === '**' ? 'any' : expressionOf(name)));
}

function expressionOf(name: string): RegExp {
  let source = '';
  for (let at = 0; at < name.length; ) {
    const [token] = /^(?:\\.|\[[!^]?\]?[^\]]*\]|\*+|.)/su.exec(name.slice(at)) as RegExpExecArray;
    at += token.length;
    source += sourceOf(token);
  }
  try {
    return new RegExp(`^${source}$`, 'su');
  } catch {
    throw new Error(`\`${name}\` is no pattern`);
  }
}

function sourceOf(token: string): string {
  if (token.startsWith('*')) return '.*';
  if (token === '?') return '.';
  if (token === '[' || token === ']' || token === '\\') throw new Error(`\`${token}\` without what belongs to it`);
  if (!token.startsWith('[')) return escaped(unescaped(token));
  const isNegated = token[1] === '!' || token[1] === '^';
  const inside = token.slice(isNegated ? 2 : 1, -1).replace(/[\\\]^[]/g, '\\$&');
  return `[${isNegated ? '^' : ''}${inside}]`;
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
const unescaped = (text: string): string => text.replace(/\\(.)/gs, '$1');

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
  for (const { 0: token, index } of text.matchAll(/\\.|\[[!^]?\]?[^\]]*\]|./gsu)) {
    if (token === '{' && ++depth === 1) [first, begun] = [index, index + 1];
    if (depth === 1 && (token === ',' || token === '}')) {
      choices.push(text.slice(begun, index));
      begun = index + 1;
    }
    if (token === '}' && --depth === 0) return { before: text.slice(0, first), choices, after: text.slice(index + 1) };
    if (depth < 0) break;
  }
  if (depth !== 0) throw new Error('braces that do not belong together');
  return undefined;
}
