// Pages of a list that is whole in memory: a cursor tells where it stands by the rows, so that rows that go or come move nothing.

import { fingerprint } from './canonical.ts';
import { readCursor, writeCursor } from './cursor.ts';

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
  /** Rises along the list, and stays with its row: a cursor then holds, whatever goes. */
  readonly orderOf?: (row: T) => number;
}

/** Rows on either side that a cursor names where they have no order: it holds while one of them is there. */
const NAMED = 32;
const MARK_LENGTH = 12;

/** Throws as *invalid* on a cursor that no page has given. */
export function pageOf<T>(all: readonly T[], { cursor, limit }: PageRequest, keys: PageKeys<T>): Page<T> {
  const start = cursor === undefined || cursor === null ? 0 : startOf(all, cursor, keys);
  const end = limit === undefined || limit === null ? all.length : start + Math.max(1, limit);
  return { data: all.slice(start, end), nextCursor: end < all.length ? cursorAt(all, end, keys) : null };
}

/** The cursor of a page that ends before this place. */
export function cursorAt<T>(all: readonly T[], end: number, { scope, keyOf, orderOf }: PageKeys<T>): string {
  if (orderOf) return writeCursor(scope, [orderOf(all[end - 1] as T)]);
  const named = (rows: readonly T[]) => rows.map((row) => markOf(keyOf(row)));
  return writeCursor(scope, [named(all.slice(Math.max(0, end - NAMED), end)), named(all.slice(end, end + NAMED))]);
}

function startOf<T>(all: readonly T[], cursor: string, { scope, keyOf, orderOf }: PageKeys<T>): number {
  if (orderOf) {
    const last = readCursor(scope, cursor, ([order]) => (typeof order === 'number' ? order : undefined));
    const start = all.findIndex((row) => orderOf(row) > last);
    return start === -1 ? all.length : start;
  }
  const [before, behind] = readCursor(scope, cursor, ([first, second]) =>
    Array.isArray(first) && Array.isArray(second) ? [new Set(first), new Set(second)] : undefined,
  );
  const isIn = (names: ReadonlySet<unknown>) => (row: T) => names.has(markOf(keyOf(row)));
  const last = all.findLastIndex(isIn(before));
  return last === -1 ? Math.max(0, all.findIndex(isIn(behind))) : last + 1;
}

const markOf = (value: unknown): string => fingerprint(value).slice(0, MARK_LENGTH);
