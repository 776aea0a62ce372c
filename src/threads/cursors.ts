// Cursors of pages from the store: valid in both directions.

import { readCursor, writeCursor } from '../base/cursor.ts';
import type { From, ThreadPlace } from '../history/store.ts';

/** `scope`: everything that must be the same for the cursor to mean the same: method, thread, filter. */
export const encodeCursor = <K>(scope: unknown, { key, inclusive }: From<K>): string =>
  writeCursor(scope, [key, inclusive ? 1 : 0]);

/** Throws as *invalid* on a cursor that no page has given. */
export function decodeCursor<K>(scope: unknown, cursor: string, isKey: (key: unknown) => key is K): From<K> {
  return readCursor(scope, cursor, (place) => {
    const [key, inclusive] = place;
    return place.length === 2 && isKey(key) ? { key, inclusive: inclusive === 1 } : undefined;
  });
}

export const isSeq = (key: unknown): key is number => Number.isSafeInteger(key);

export type ThreadKey = ThreadPlace;

export function isThreadKey(key: unknown): key is ThreadKey {
  const { ms, id } = (key ?? {}) as Partial<ThreadKey>;
  return (Number.isSafeInteger(ms) || typeof ms === 'string') && typeof id === 'string';
}
