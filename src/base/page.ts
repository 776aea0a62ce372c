// Pages of a list that is whole in memory: a cursor names the rows it stands behind, so that rows that go or come move nothing.

import { fingerprint } from './canonical.ts';
import { AppError } from './errors.ts';

export interface PageRequest {
  /** What the last page gave as `nextCursor`. */
  readonly cursor?: string | null | undefined;
  /** At least one is given; everything when there is no limit. */
  readonly limit?: number | null | undefined;
}

export interface Page<T> {
  readonly data: T[];
  readonly nextCursor: string | null;
}

export interface PageKeys<T> {
  /** What a cursor is good for: the method, and the thread where there is one. */
  readonly scope: readonly string[];
  /** What a row is known by; no two rows have the same. */
  readonly keyOf: (row: T) => string;
}

/** So many rows may go before a cursor, all in a row, without its losing its place. */
const NAMED = 32;
const MARK_LENGTH = 12;

/** Throws as *invalid* on a cursor that no page has given. */
export function pageOf<T>(all: readonly T[], { cursor, limit }: PageRequest, keys: PageKeys<T>): Page<T> {
  const start = cursor === undefined || cursor === null ? 0 : startOf(all, cursor, keys);
  const end = limit === undefined || limit === null ? all.length : start + Math.max(1, limit);
  return { data: all.slice(start, end), nextCursor: end < all.length ? cursorAt(all, end, keys) : null };
}

/** The cursor of a page that ends before this place. */
export function cursorAt<T>(all: readonly T[], end: number, { scope, keyOf }: PageKeys<T>): string {
  const before = all.slice(Math.max(0, end - NAMED), end).map((row) => markOf(keyOf(row)));
  return Buffer.from(JSON.stringify([markOf(scope), before])).toString('base64url');
}

/** Behind the last row that is still there of those the cursor names; at the beginning when all of them have gone. */
function startOf<T>(all: readonly T[], cursor: string, { scope, keyOf }: PageKeys<T>): number {
  const before = new Set(namedBy(cursor, markOf(scope)));
  return all.findLastIndex((row) => before.has(markOf(keyOf(row)))) + 1;
}

function namedBy(cursor: string, scope: string): readonly unknown[] {
  const refuse = () => new AppError('invalid', `invalid cursor: ${cursor.slice(0, 100)}`);
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    throw refuse();
  }
  if (!Array.isArray(parts) || parts[0] !== scope || !Array.isArray(parts[1])) throw refuse();
  return parts[1];
}

const markOf = (value: unknown): string => fingerprint(value).slice(0, MARK_LENGTH);
