// What writes of settings ask for: their keys, and the settings that there are after them.

import type { JsonValue } from '../base/canonical.ts';
import { AppError } from '../base/errors.ts';
import { FORBIDDEN_NAMES, isTable, isTooDeep, type Table } from './tables.ts';

const MAX_SEGMENTS = 64;

export type MergeStrategy = 'replace' | 'upsert';

export interface ConfigEdit {
  readonly path: readonly string[];
  /** Null takes the setting away. */
  readonly value: JsonValue;
  /** `upsert` keeps members of a table that the value does not name. */
  readonly mergeStrategy: MergeStrategy;
}

export type WriteErrorCode =
  | 'configLayerReadonly'
  | 'configPathNotFound'
  | 'configVersionConflict'
  | 'configValidationError';

/** What clients tell failed writes apart by. */
export function writeError(code: WriteErrorCode, message: string): AppError {
  const kind = code === 'configVersionConflict' ? 'conflict' : 'invalid';
  return new AppError(kind, message, { config_write_error_code: code });
}

/** The segments of a dotted key; in double quotes a segment may hold anything, `\"` and `\\` among it. Throws as *invalid*. */
export function keyPathOf(text: string): readonly string[] {
  if (text === '') throw writeError('configValidationError', 'keyPath must not be empty');
  const segments: string[] = [];
  const segment = /(?:"((?:[^"\\]|\\["\\])*)"|([^."]+))(\.|$)/y;
  let isOpen = true;
  while (isOpen) {
    const match = segment.exec(text);
    if (!match) throw writeError('configValidationError', `keyPath \`${text}\` cannot be read`);
    segments.push(match[1]?.replace(/\\(.)/g, '$1') ?? match[2] ?? '');
    isOpen = match[3] === '.';
  }
  const bad = segments.find((each) => FORBIDDEN_NAMES.has(each));
  if (bad !== undefined) throw writeError('configValidationError', `no setting is called \`${bad}\``);
  return segments;
}

/** The settings after all edits, in their order. Throws as *invalid*. */
export function edited(table: Table, edits: readonly ConfigEdit[]): Table {
  const isDeep = edits.some(({ path, value }) => path.length > MAX_SEGMENTS || isTooDeep(value));
  const after = isDeep ? undefined : edits.reduce((before, edit) => applied(before, edit, edit.path, []), table);
  if (!after || isTooDeep(after)) throw writeError('configValidationError', 'settings are nested too deeply');
  return after;
}

function applied(table: Table, edit: ConfigEdit, path: readonly string[], above: readonly string[]): Table {
  const [key = '', ...rest] = path;
  const before = Object.hasOwn(table, key) ? table[key] : undefined;
  if (rest.length === 0) return withMember(table, key, resultOf(before, edit));
  const here = [...above, key];
  if (before !== null && before !== undefined && !isTable(before)) {
    throw writeError('configValidationError', `\`${here.join('.')}\` is not a table`);
  }
  if (!isTable(before) && edit.value === null) return table;
  return withMember(table, key, applied(isTable(before) ? before : {}, edit, rest, here));
}

/** Undefined: it is taken away. */
function resultOf(before: unknown, { value, mergeStrategy }: ConfigEdit): unknown {
  if (value === null) return undefined;
  if (!isTable(value)) return value;
  return mergeStrategy === 'upsert' && isTable(before) ? upserted(before, value) : withoutNulls(value);
}

function upserted(before: Table, over: Table): Table {
  return Object.entries(over).reduce((table, [key, value]) => {
    const below = Object.hasOwn(table, key) ? table[key] : undefined;
    const after = isTable(value)
      ? isTable(below)
        ? upserted(below, value)
        : withoutNulls(value)
      : (value ?? undefined);
    return withMember(table, key, after);
  }, before);
}

function withoutNulls(table: Table): Table {
  return upserted({}, table);
}

function withMember(table: Table, key: string, value: unknown): Table {
  if (FORBIDDEN_NAMES.has(key)) throw writeError('configValidationError', `no setting is called \`${key}\``);
  if (value !== undefined) return { ...table, [key]: value };
  const { [key]: _gone, ...rest } = table;
  return rest;
}
