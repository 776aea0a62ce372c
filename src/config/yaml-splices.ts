// The smallest changes of a YAML text that set, add or remove one key, the best first. Whether one of them holds is for the caller to see.

import type { CST, Pair, YAMLMap } from 'yaml';
import type { JsonValue } from '../base/canonical.ts';
import { isTable } from './tables.ts';
import {
  afterColon,
  afterProperties,
  collectionOf,
  commasAround,
  headComment,
  type Item,
  isBlank,
  itemOf,
  lineBreakAt,
  lineEnd,
  lineStart,
  pairEnd,
  pairStart,
  tokenEnd,
} from './yaml-places.ts';
import { blockLines, inline, type Quote, textWord } from './yaml-words.ts';

export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Changes that belong together, in the order of their places. */
export type Change = readonly Splice[];

/** How the text around is written. */
export interface Style {
  readonly text: string;
  /** One step of indentation. */
  readonly step: string;
}

export function spliced(text: string, change: Change): string {
  return change.reduceRight((rest, { start, end, text: put }) => rest.slice(0, start) + put + rest.slice(end), text);
}

const cut = (start: number, end: number): Splice => ({ start, end, text: '' });
const put = (at: number, text: string): Splice => ({ start: at, end: at, text });

/** Changes that give a pair another value. */
export function settings(style: Style, pair: Pair, isFlow: boolean, value: JsonValue): Change[] {
  const { text } = style;
  const item = itemOf(pair);
  const { key, value: token } = item;
  const [colon, begin] = [afterColon(item), afterProperties(item)];
  const line = inline(value, token ? quoteOf(token) : '');
  if (colon === undefined || begin === undefined) {
    const end = key ? tokenEnd(text, key) : pairEnd(text, item);
    return [[put(end, `: ${line}`)], [put(lineEnd(text, end), `${lineBreakAt(text, lineEnd(text, end))}: ${line}`)]];
  }
  if (!token) return [...asBlock(style, item, isFlow, value), [put(begin, ` ${line}`)], [replaced(colon, begin, line)]];
  const end = tokenEnd(text, token);
  const head = headComment(item);
  const isOpen = token.type === 'block-map' || token.type === 'block-seq' || token.type === 'block-scalar';
  return [
    ...asBlock(style, item, isFlow, value),
    isOpen ? [replaced(begin, end, line + head)] : [{ start: token.offset, end, text: line }],
    [replaced(colon, end, line + (isOpen ? head : ''))],
    [replaced(colon, lineEnd(text, end), line + head)],
  ];
}

const replaced = (start: number, end: number, line: string): Splice => ({ start, end, text: ` ${line}` });

function quoteOf(token: CST.Token): Quote {
  if (token.type === 'single-quoted-scalar') return "'";
  return token.type === 'double-quoted-scalar' ? '"' : '';
}

/** A table below its key, one setting a line; the comment on the line of the key stays there. */
function asBlock({ text, step }: Style, item: Item, isFlow: boolean, value: JsonValue): Change[] {
  const begin = afterProperties(item);
  if (isFlow || begin === undefined || !isTable(value) || Object.keys(value).length === 0) return [];
  const end = pairEnd(text, item);
  const last = lineEnd(text, end);
  const comments = [headComment(item).trim(), text.slice(end, last).trim()].filter((comment) => comment !== '');
  if (comments.length > 1 && comments[0] !== comments[1]) return [];
  const lines = blockLines(value, ' '.repeat(columnOf(text, item)) + step, step);
  const comment = comments.length > 0 ? ` ${comments[0]}` : '';
  return [[{ start: begin, end: last, text: [comment, ...lines].join(lineBreakAt(text, last)) }]];
}

/** Where the key begins in its line. */
function columnOf(text: string, item: Item): number {
  const start = pairStart(item);
  return start - lineStart(text, start);
}

/** Changes that add a key to a map that has others. */
export function additions(style: Style, map: YAMLMap, key: string, value: JsonValue): Change[] {
  const collection = collectionOf(map);
  const last = map.items.at(-1);
  const word = `${textWord(key)}: ${inline(value)}`;
  if (!collection) return [];
  if (collection.type === 'flow-collection') return flowAdditions(style.text, collection, last, word);
  if (!last) return [];
  const item = itemOf(last as Pair);
  const indent = ' '.repeat(columnOf(style.text, item));
  const ends = [pairEnd(style.text, item), wholeEnd(map)];
  return [blockLines({ [key]: value }, indent, style.step), [indent + word]].flatMap((lines) =>
    ends.map((end) => [insertedLines(style.text, end, lines)]),
  );
}

/** After the line in which something ends; what ends with a line break is followed at once. */
function insertedLines(text: string, end: number, lines: readonly string[]): Splice {
  const at = end > 0 && text[end - 1] === '\n' ? end : lineEnd(text, end);
  const lineBreak = lineBreakAt(text, at);
  return at > 0 && text[at - 1] === '\n'
    ? put(at, lines.map((line) => line + lineBreak).join(''))
    : put(at, lines.map((line) => lineBreak + line).join(''));
}

/** Where a map ends with all blank lines that may belong to its last value. */
function wholeEnd(map: YAMLMap): number {
  return map.range?.[1] ?? 0;
}

function flowAdditions(text: string, collection: CST.FlowCollection, last: unknown, word: string): Change[] {
  if (!last) return [[put(collection.start.offset + 1, word)]];
  const item = itemOf(last as Pair);
  const [end, start] = [pairEnd(text, item), pairStart(item)];
  const [, comma] = commasAround(collection, item);
  const rest = comma ? comma.offset + 1 : end;
  const stop = lineEnd(text, rest);
  const indent = text.slice(lineStart(text, start), start);
  const onLine: Change = [put(end, `, ${word}`)];
  if (!isBlank(indent) || !/^\s*(?:#.*)?$/.test(text.slice(rest, stop)) || stop === text.length) return [onLine];
  const below = put(stop, `${lineBreakAt(text, stop)}${indent}${word}${comma ? ',' : ''}`);
  return [comma ? [below] : [put(end, ','), below], onLine];
}

/** Changes that take a pair out of its map; `owner` is the pair whose value the map is. */
export function removals(style: Style, map: YAMLMap, pair: Pair, owner: Pair | undefined): Change[] {
  const collection = collectionOf(map);
  const item = itemOf(pair);
  if (!collection) return [];
  if (collection.type === 'flow-collection') return flowRemovals(style.text, collection, item);
  const changes = blockRemovals(style.text, map, pair);
  if (map.items.length > 1 || !owner) return changes;
  const begin = afterProperties(itemOf(owner));
  if (begin === undefined) return [];
  return changes.map((change) => [put(begin, ' {}'), ...change]);
}

function blockRemovals(text: string, map: YAMLMap, pair: Pair): Change[] {
  const item = itemOf(pair);
  const start = pairStart(item);
  const next = map.items[map.items.indexOf(pair) + 1] as Pair | undefined;
  const begin = lineStart(text, start);
  const following = next && pairStart(itemOf(next));
  if (!isBlank(text.slice(begin, start))) {
    return [following === undefined ? [cut(start, lineEnd(text, pairEnd(text, item)))] : [cut(start, following)]];
  }
  const stop = lineEnd(text, pairEnd(text, item));
  const whole = following === undefined ? wholeEnd(map) : lineStart(text, following);
  return [
    [cut(begin, stop + lengthOfBreak(text, stop))],
    [cut(begin, Math.max(whole, stop))],
    // A comment keeps blank lines behind it from becoming part of a text above.
    [{ start, end: stop, text: '#' }],
  ];
}

const lengthOfBreak = (text: string, at: number): number => /^\r?\n/.exec(text.slice(at, at + 2))?.[0].length ?? 0;

function flowRemovals(text: string, collection: CST.FlowCollection, item: Item): Change[] {
  const [start, end] = [pairStart(item), pairEnd(text, item)];
  const [before, after] = commasAround(collection, item);
  if (after) {
    const apart = [cut(start, end), cut(after.offset, after.offset + 1)];
    return isBlank(text.slice(end, after.offset)) ? [[wholeLine(text, start, after.offset + 1)], apart] : [apart];
  }
  if (!before) return [[cut(start, end)]];
  const apart = [cut(before.offset, before.offset + 1), cut(start, end)];
  return isBlank(text.slice(before.offset + 1, start)) ? [[cut(before.offset, end)], apart] : [apart];
}

/** The line, when nothing else is in it; else the spaces behind too. */
function wholeLine(text: string, start: number, end: number): Splice {
  const [begin, stop] = [lineStart(text, start), lineEnd(text, end)];
  const isAlone = begin > 0 && isBlank(text.slice(begin, start)) && isBlank(text.slice(end, stop));
  if (isAlone) return cut(begin, stop + lengthOfBreak(text, stop));
  return cut(start, end + (/^[ \t]*/.exec(text.slice(end, stop))?.[0].length ?? 0));
}
