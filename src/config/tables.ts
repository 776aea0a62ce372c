// Nested tables of settings: taken from untrusted text, merged, addressed by dotted keys, walked leaf by leaf.

export type Table = { readonly [key: string]: unknown };

/** Names that would reach into the prototype of an object; no setting is called so. */
export const FORBIDDEN_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

export function isTable(value: unknown): value is Table {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof Date);
}

/** The same settings with what is not set (null) left out. */
export function cleaned(table: Table): Table {
  const kept = Object.entries(table).filter(([key, value]) => value !== null && !FORBIDDEN_NAMES.has(key));
  return Object.fromEntries(kept.map(([key, value]) => [key, isTable(value) ? cleaned(value) : value]));
}

/** `over` goes before `base`, member by member; lists are replaced whole. */
export function merged(base: Table, over: Table): Table {
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    if (FORBIDDEN_NAMES.has(key)) continue;
    const below = result[key];
    result[key] = isTable(value) && isTable(below) ? merged(below, value) : value;
  }
  return result;
}

/** One setting as a table: `a.b` becomes `{a: {b: value}}`. A segment with dots in it is written in double quotes. */
export function nested(dottedKey: string, value: unknown): Table {
  return keySegments(dottedKey).reduceRight<unknown>((rest, segment) => ({ [segment]: rest }), value) as Table;
}

/** A table whose own keys may be dotted, as plain nested tables; keys further in are names, dots and all. */
export function expanded(table: Table): Table {
  return Object.entries(table).reduce<Table>((result, [key, value]) => merged(result, nested(key, value)), {});
}

/** The segments of a dotted key; a key that cannot be read that way is one segment. */
export function keySegments(dottedKey: string): readonly string[] {
  if (!/^(?:[^."]+|"[^"]+")(?:\.(?:[^."]+|"[^"]+"))*$/.test(dottedKey)) return [dottedKey];
  return [...dottedKey.matchAll(/"([^"]+)"|([^."]+)/g)].map((match) => match[1] ?? match[2] ?? '');
}

/** The dotted keys of all settings below a table; an empty table or a list is one setting. */
export function leaves(table: Table, prefix = ''): readonly string[] {
  return Object.entries(table).flatMap(([key, value]) => {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    return isTable(value) && Object.keys(value).length > 0 ? leaves(value, path) : [path];
  });
}

/** Deeper tables and lists are none of settings, nor are those that hold themselves. */
const MAX_DEPTH = 64;

export function isTooDeep(value: unknown, depth = 0): boolean {
  if (value === null || typeof value !== 'object') return false;
  return depth >= MAX_DEPTH || Object.values(value).some((each) => isTooDeep(each, depth + 1));
}

/** The line of a TOML text, from 1, with the longest dotted key: where it is nested deepest, as brackets are limited by its reader. */
export function deepLine(text: string): number {
  const depths = text.split('\n').map((line) => line.split('.').length);
  return depths.indexOf(depths.reduce((most, depth) => Math.max(most, depth), 0)) + 1;
}
