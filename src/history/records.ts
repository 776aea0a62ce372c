// Records as text: canonical JSON, with the long strings of a value taken out and named by their digest.

import { canonicalJson, sha256 } from '../base/canonical.ts';
import { hasTextOver } from '../base/long-json.ts';

/** Strings over this many bytes are kept outside the record. */
export const BLOB_THRESHOLD = 64 * 1024;

/** Where a string was taken out, and what it was. */
export interface BlobRef {
  /** Members and positions from the record down to the string. */
  readonly path: readonly (string | number)[];
  /** SHA-256 of its UTF-8 bytes, in hex. */
  readonly hash: string;
  readonly bytes: number;
}

export interface Encoded {
  readonly text: string;
  readonly refs: readonly BlobRef[];
  /** The strings taken out, by hash. */
  readonly contents: ReadonlyMap<string, string>;
}

export interface Decoded<T> {
  /** With an empty string at the place of each reference until `fill` has run. */
  readonly value: T;
  readonly refs: readonly BlobRef[];
}

const NO_REFS: readonly BlobRef[] = [];
const NO_CONTENTS: ReadonlyMap<string, string> = new Map();

/** A text with all its strings in it. */
export const whole = (text: string): Encoded => ({ text, refs: NO_REFS, contents: NO_CONTENTS });

/** The canonical text of a record of the log; see `encodeRow` about long strings. */
export const encode = (record: object): Encoded => encodeWith(canonicalJson, record);

/**
 * The text of a row of a table, which no digest depends on. References lie in a member `blobs` of the record itself, where no value from outside can put one; a
 * record has no such member of its own.
 */
export const encodeRow = (record: object): Encoded => encodeWith(JSON.stringify, record);

function encodeWith(write: (record: object) => string, record: object): Encoded {
  // Looked for first: a text with long strings in it would be made only to be thrown away.
  if (!hasTextOver(MAY_BE_CUT, record)) return whole(write(record));
  const refs: BlobRef[] = [];
  const contents = new Map<string, string>();
  const rest = cut(record, [], refs, contents) as object;
  return refs.length === 0 ? whole(write(record)) : { text: write({ ...rest, blobs: refs }), refs, contents };
}

/** A string of n bytes has at least n / 3 characters. */
const MAY_BE_CUT = BLOB_THRESHOLD / 3;

function cut(value: unknown, path: BlobRef['path'], refs: BlobRef[], contents: Map<string, string>): unknown {
  if (typeof value === 'string') {
    if (value.length <= MAY_BE_CUT) return value;
    const bytes = Buffer.byteLength(value);
    // Bytes cannot hold half a surrogate pair; JSON can, so such a string stays in the record.
    if (bytes <= BLOB_THRESHOLD || LONE_SURROGATE.test(value)) return value;
    const hash = sha256(value);
    refs.push({ path, hash, bytes });
    contents.set(hash, value);
    return '';
  }
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((element, index) => cut(element, [...path, index], refs, contents));
  const members = Object.entries(value).map(([name, member]) => [name, cut(member, [...path, name], refs, contents)]);
  return Object.fromEntries(members);
}

const LONE_SURROGATE = /\p{Surrogate}/u;

export function decode<T>(text: string): Decoded<T> {
  const value = JSON.parse(text) as T & { blobs?: readonly BlobRef[] };
  const refs = value.blobs;
  if (refs === undefined) return { value, refs: NO_REFS };
  delete value.blobs;
  return { value, refs };
}

/** Puts a string back where it was taken out. */
export function fill(record: object, path: BlobRef['path'], content: string): void {
  let place = record as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) place = place[step] as Record<string | number, unknown>;
  place[path.at(-1) as string] = content;
}
