// Values as YAML text: on one line, or as lines of a block.

import type { JsonValue } from '../base/canonical.ts';
import { isTable, type Table } from './tables.ts';

/** Text that no reader of YAML takes for anything but text, in any place. */
const PLAIN = /^[A-Za-z_/][\w./@+-]*(?: [\w./@+][\w./@+-]*)*$/;
const RESERVED = /^(?:y|n|yes|no|on|off|true|false|null|nan|inf)$/i;
/** What JSON leaves as it is and YAML wants escaped. */
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

export type Quote = '' | "'" | '"';

export function textWord(text: string, quote: Quote = ''): string {
  const isOneLine = !/[\p{Cc}\p{Cs}\u2028\u2029\ufeff\ufffe\uffff]/u.test(text);
  if (quote === "'" && isOneLine) return `'${text.replaceAll("'", "''")}'`;
  if (quote === '' && PLAIN.test(text) && !RESERVED.test(text)) return text;
  return JSON.stringify(text).replace(UNPRINTABLE, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** On one line, in flow style; good in every place. */
export function inline(value: JsonValue, quote: Quote = ''): string {
  if (typeof value === 'string') return textWord(value, quote);
  if (Array.isArray(value)) return `[${value.map((each) => inline(each)).join(', ')}]`;
  if (!isTable(value)) return JSON.stringify(value);
  const members = Object.entries(value as Table).map(([key, each]) => `${textWord(key)}: ${inline(each as JsonValue)}`);
  return `{${members.join(', ')}}`;
}

/** Lines of a block map, without line breaks; each begins with `indent`. */
export function blockLines(table: Table, indent: string, step: string): string[] {
  return Object.entries(table).flatMap(([key, value]) => {
    const name = `${indent}${textWord(key)}:`;
    if (!isTable(value) || Object.keys(value).length === 0) return [`${name} ${inline(value as JsonValue)}`];
    return [name, ...blockLines(value, indent + step, step)];
  });
}
