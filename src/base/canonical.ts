// Canonical JSON (members sorted by name) and the digests made from it.

import { createHash } from 'node:crypto';

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [member: string]: JsonValue };

/** JSON text that is the same for equal values, whatever the order of their members; `undefined` members are left out. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  // Every record of a log passes here: a loop, and no lists in between.
  let members = '';
  for (const name of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[name];
    if (member === undefined) continue;
    if (members !== '') members += ',';
    members += `${JSON.stringify(name)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}

/** SHA-256 in lower-case hex of a text or bytes. */
export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

/** SHA-256 of the canonical JSON of a value. */
export function fingerprint(value: unknown): string {
  return sha256(canonicalJson(value));
}
