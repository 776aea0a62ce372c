// Opaque cursors of pages: bound to their method and scope, and valid in both directions.

import { fingerprint } from '../base/canonical.ts';
import { AppError } from '../base/errors.ts';
import type { From, ThreadPlace } from '../history/store.ts';

/** `scope`: everything that must be the same for the cursor to mean the same: method, thread, filter. */
export function encodeCursor<K>(scope: unknown, from: From<K>): string {
  const text = JSON.stringify([scopeMark(scope), from.key, from.inclusive ? 1 : 0]);
  return Buffer.from(text).toString('base64url');
}

export function decodeCursor<K>(scope: unknown, cursor: string, isKey: (key: unknown) => key is K): From<K> {
  const refuse = () => new AppError('invalid', `invalid cursor: ${cursor.slice(0, 200)}`);
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    throw refuse();
  }
  if (!Array.isArray(parts) || parts.length !== 3) throw refuse();
  const [mark, key, inclusive] = parts as unknown[];
  if (mark !== scopeMark(scope) || !isKey(key)) throw refuse();
  return { key, inclusive: inclusive === 1 };
}

const scopeMark = (scope: unknown): string => fingerprint(scope).slice(0, 16);

export const isSeq = (key: unknown): key is number => Number.isSafeInteger(key);

export type ThreadKey = ThreadPlace;

export function isThreadKey(key: unknown): key is ThreadKey {
  const { ms, id } = (key ?? {}) as Partial<ThreadKey>;
  return (Number.isSafeInteger(ms) || typeof ms === 'string') && typeof id === 'string';
}
