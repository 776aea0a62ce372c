// Changes keys of a YAML text and nothing else: each change is spliced in, read again and compared before it counts.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Document, isMap, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml';
import type { JsonValue } from '../base/canonical.ts';
import { AppError } from '../base/errors.ts';
import { isTable, type Table } from './tables.ts';
import { itemOf, lineBreakAt, lineStart, pairStart } from './yaml-places.ts';
import { additions, type Change, removals, type Style, settings, spliced } from './yaml-splices.ts';
import { blockLines } from './yaml-words.ts';

const BYTE_ORDER_MARK = '\ufeff';

/**
 * The text with the settings of `target`; every byte that says something else stays. `text` is YAML without errors whose root
 * is a map or nothing. Throws as *invalid* where the text cannot be made to say that without touching other settings, such as
 * those that share a value by an anchor.
 */
export async function editedYaml(text: string, target: Table): Promise<string> {
  if (text.startsWith(BYTE_ORDER_MARK)) return BYTE_ORDER_MARK + (await editedYaml(text.slice(1), target));
  let now = readText(text);
  if (!now) throw new Error('only YAML that can be read is edited');
  for (;;) {
    const path = firstDifference(now.table, target);
    if (!path) return now.text;
    now = step(now, target, path);
    // Each step reads the whole file anew: whoever writes many settings does not keep everybody else waiting.
    await nextTurn();
  }
}

interface ReadText {
  readonly text: string;
  readonly document: Document;
  readonly table: Table;
}

/** Undefined: it cannot be read. */
function readText(text: string): ReadText | undefined {
  try {
    const document = parseDocument(text, { keepSourceTokens: true, prettyErrors: false, logLevel: 'silent' });
    const table: unknown = document.toJS({ maxAliasCount: 100 }) ?? {};
    return document.errors.length === 0 && isTable(table) ? { text, document, table } : undefined;
  } catch {
    return undefined;
  }
}

/** The path of a setting that differs, as deep as both have tables. */
function firstDifference(before: Table, target: Table): readonly string[] | undefined {
  for (const key of new Set([...Object.keys(before), ...Object.keys(target)])) {
    const [old, wanted] = [ownValue(before, key), ownValue(target, key)];
    if (isDeepStrictEqual(old, wanted)) continue;
    const deeper = isTable(old) && isTable(wanted) ? firstDifference(old, wanted) : undefined;
    return [key, ...(deeper ?? [])];
  }
  return undefined;
}

const ownValue = (table: Table, key: string): unknown => (Object.hasOwn(table, key) ? table[key] : undefined);

/** One setting nearer to the target. */
function step({ text, document, table }: ReadText, target: Table, path: readonly string[]): ReadText {
  const place = placeOf(document, path);
  const own = path.slice(0, place.depth + 1);
  const value = own.reduce<unknown>((inner, key) => (isTable(inner) ? ownValue(inner, key) : undefined), target);
  const goal = withValue(table, own, value);
  for (const change of changesFor(text, place, own, value as JsonValue | undefined)) {
    const after = readText(spliced(text, change));
    if (after && isDeepStrictEqual(after.table, goal)) return after;
  }
  throw refusal(text, own);
}

function refusal(text: string, path: readonly string[]): AppError {
  const name = path.join('.');
  const reason = /(?:^|[\s[{,:])&\S/.test(text)
    ? 'settings of the file share values by anchors, and others would change with it'
    : 'the file is written in a way that does not let it be changed alone';
  return new AppError('invalid', `\`${name}\` cannot be written: ${reason}; change the file by hand`, {
    config_write_error_code: 'configValidationError',
  });
}

function withValue(table: Table, [key = '', ...rest]: readonly string[], value: unknown): Table {
  const copy: Record<string, unknown> = { ...table };
  const inner = ownValue(table, key);
  const next = rest.length > 0 ? withValue(isTable(inner) ? inner : {}, rest, value) : value;
  if (next === undefined) delete copy[key];
  else copy[key] = next;
  return copy;
}

/** How far a path can be followed in what is written. */
interface Place {
  /** Undefined: the document says nothing yet. */
  readonly map: YAMLMap | undefined;
  /** The pair whose value the map is; undefined at the root. */
  readonly owner: Pair | undefined;
  readonly pair: Pair | undefined;
  /** Index in the path of the key that is, or would be, in `map`. */
  readonly depth: number;
}

function placeOf({ contents }: Document, path: readonly string[]): Place {
  let map = isMap(contents) ? (contents as YAMLMap) : undefined;
  let owner: Pair | undefined;
  for (let depth = 0; map; depth += 1) {
    const pair: Pair | undefined = pairOf(map, path[depth] ?? '');
    if (!pair || depth === path.length - 1 || !isMap(pair.value)) return { map, owner, pair, depth };
    [map, owner] = [pair.value as YAMLMap, pair];
  }
  return { map, owner, pair: undefined, depth: 0 };
}

/** The last one goes before, as it does for readers. */
function pairOf(map: YAMLMap, name: string): Pair | undefined {
  return (map.items as Pair[]).findLast(({ key }) => isScalar(key) && String(key.value ?? '') === name);
}

function changesFor(text: string, place: Place, path: readonly string[], value: JsonValue | undefined): Change[] {
  const { map, owner, pair } = place;
  const style: Style = { text, step: '  ' };
  const key = path.at(-1) ?? '';
  if (!map) return value === undefined ? [] : firstSettings(text, { [key]: value });
  if (value === undefined) return pair ? removals(style, map, pair, owner) : [];
  const written = { ...style, step: stepOf(text, map, owner) };
  return pair ? settings(written, pair, map.flow === true, value) : additions(written, map, key, value);
}

/** The indentation that the map has over its owner, or two spaces. */
function stepOf(text: string, map: YAMLMap, owner: Pair | undefined): string {
  const nested = (map.items as Pair[]).find(({ value }) => isMap(value) && !value.flow && value.items.length > 0);
  const [outer, inner] = nested ? [nested, (nested.value as YAMLMap).items[0] as Pair] : [owner, map.items[0] as Pair];
  if (!outer || !inner || map.flow) return '  ';
  const column = (pair: Pair) => pairStart(itemOf(pair)) - lineStart(text, pairStart(itemOf(pair)));
  return ' '.repeat(Math.max(column(inner) - column(outer), 0) || 2);
}

/** In a document that says nothing yet: at its end, before the mark of its end, or in place of its `null`. */
function firstSettings(text: string, table: Table): Change[] {
  const lineBreak = lineBreakAt(text, text.length);
  const lines = blockLines(table, '', '  ').map((line) => line + lineBreak);
  const nothing = /^(?:null|~)[ \t]*(?=#|\r?$)/m.exec(text);
  const places = [text.length, /^\.\.\.(?=\s)/m.exec(text)?.index].filter((at) => at !== undefined);
  return [
    ...places.map((at): Change => {
      const before = at === 0 || text[at - 1] === '\n' ? '' : lineBreak;
      return [{ start: at, end: at, text: before + lines.join('') }];
    }),
    ...(nothing ? [[{ start: nothing.index, end: nothing.index + nothing[0].length, text: lines.join('') }]] : []),
  ];
}
