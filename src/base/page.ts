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

/** Rows on either side that a cursor names where they have no order; beyond them it has the least key of those behind it. */
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
  let least = keyOf(all[end] as T);
  for (const key of all.slice(end).map(keyOf)) if (key < least) least = key;
  const sides = [all.slice(Math.max(0, end - NAMED), end), all.slice(end, end + NAMED)];
  return writeCursor(scope, [...sides.map(named), least]);
}

function startOf<T>(all: readonly T[], cursor: string, { scope, keyOf, orderOf }: PageKeys<T>): number {
  if (orderOf) {
    const last = readCursor(scope, cursor, ([order]) => (typeof order === 'number' ? order : undefined));
    const start = all.findIndex((row) => orderOf(row) > last);
    return start === -1 ? all.length : start;
  }
  const { before, behind, least } = readCursor(scope, cursor, ([first, second, third]) =>
    Array.isArray(first) && Array.isArray(second) && typeof third === 'string'
      ? { before: new Set<unknown>(first), behind: new Set<unknown>(second), least: third }
      : undefined,
  );
  return placeBetween(all, keyOf, before, behind) ?? placeBefore(all, keyOf, least);
}

/**
 * Where the fewest of the named rows are on the wrong side, so that one that has moved takes the place nowhere. Undefined: none of
 * them is there.
 */
function placeBetween<T>(
  all: readonly T[],
  keyOf: (row: T) => string,
  before: ReadonlySet<unknown>,
  behind: ReadonlySet<unknown>,
): number | undefined {
  const marks = all.map((row) => markOf(keyOf(row)));
  const left = marks.filter((mark) => before.has(mark)).length;
  if (left === 0 && !marks.some((mark) => behind.has(mark))) return undefined;
  let wrong = left;
  let best = { wrong, first: 0, last: 0 };
  marks.forEach((mark, index) => {
    wrong += before.has(mark) ? -1 : behind.has(mark) ? 1 : 0;
    if (wrong < best.wrong) best = { wrong, first: index + 1, last: index + 1 };
    else if (wrong === best.wrong) best.last = index + 1;
  });
  return left > 0 ? best.first : best.last;
}

/**
 * In front of the first row whose key is not below all keys that were behind the cursor: none of those can be skipped, whatever
 * keys are like, and none comes again where they rise along the list.
 */
function placeBefore<T>(all: readonly T[], keyOf: (row: T) => string, least: string): number {
  const start = all.findIndex((row) => keyOf(row) >= least);
  return start === -1 ? all.length : start;
}

const markOf = (value: unknown): string => fingerprint(value).slice(0, MARK_LENGTH);
