// Opaque cursors of pages: a place, bound to what it is a place in.

import { fingerprint } from './canonical.ts';
import { AppError } from './errors.ts';

/** `scope`: everything that must be the same for the cursor to mean the same: method, thread, filter. */
export function writeCursor(scope: unknown, place: readonly unknown[]): string {
  return Buffer.from(JSON.stringify([scopeMark(scope), ...place])).toString('base64url');
}

/** Throws as *invalid* on what was not written for this scope, or has a place that is none. */
export function readCursor<P>(
  scope: unknown,
  cursor: string,
  placeOf: (place: readonly unknown[]) => P | undefined,
): P {
  const place = placeIn(scope, cursor);
  const found = place && placeOf(place);
  if (found === undefined) throw new AppError('invalid', `invalid cursor: ${cursor.slice(0, 200)}`);
  return found;
}

function placeIn(scope: unknown, cursor: string): readonly unknown[] | undefined {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    return Array.isArray(parts) && parts[0] === scopeMark(scope) ? parts.slice(1) : undefined;
  } catch {
    return undefined;
  }
}

const scopeMark = (scope: unknown): string => fingerprint(scope).slice(0, 16);
