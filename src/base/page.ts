// Pages of a list that is whole in memory.

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

/** Throws as *invalid* on a cursor that no page has given. */
export function pageOf<T>(all: readonly T[], { cursor, limit }: PageRequest): Page<T> {
  const start = startOf(cursor, all.length);
  const end = limit === undefined || limit === null ? all.length : start + Math.max(1, limit);
  return { data: all.slice(start, end), nextCursor: end < all.length ? String(end) : null };
}

function startOf(cursor: string | null | undefined, length: number): number {
  if (cursor === undefined || cursor === null) return 0;
  const start = /^\d{1,9}$/.test(cursor) ? Number(cursor) : Number.NaN;
  if (start <= length) return start;
  throw new AppError('invalid', `invalid cursor: ${cursor.slice(0, 100)}`);
}
