// Which keys make a request once-only, and what a repeated one is answered.

// biome-ignore-all lint/suspicious/noExplicitAny: methods of all shapes.

import { AppError, type ErrorKind, isAppError } from '../base/errors.ts';
import type { Ledger, LedgerRecord, Once } from '../history/store.ts';
import type { Request } from './declare.ts';

/** A request that has its effect once, before its reply is known. */
export type Claim = Omit<Once, 'reply'>;

/** Errors that say: refused, and nothing was done. */
const REFUSALS: ReadonlySet<ErrorKind> = new Set([
  'badRequest',
  'unsupported',
  'invalid',
  'notFound',
  'conflict',
  'forbidden',
  'unauthenticated',
  'notInitialized',
  'overloaded',
]);

/** All keys of the request, the client's `idempotencyKey` first; none: it is not once-only. Throws *invalid* for a wrong one. */
export function onceKeysOf(method: Request<any, any>, params: any, given: unknown): readonly string[] {
  if (!method.mutates) return [];
  const own = method.onceKey?.(params);
  const ownKeys = own === undefined ? [] : [own];
  const key = (given as { idempotencyKey?: unknown } | null | undefined)?.idempotencyKey;
  if (key === undefined || key === null) return ownKeys;
  if (typeof key === 'string' && key.length > 0 && key.length <= 256) return [`key:${key}`, ...ownKeys];
  throw new AppError('invalid', 'idempotencyKey is a text of 1 to 256 characters');
}

/** What makes two requests with one key the same. */
export function withoutKey(params: unknown): unknown {
  if (params === null || typeof params !== 'object') return params;
  const { idempotencyKey: _key, ...rest } = params as Record<string, unknown>;
  return rest;
}

/**
 * The stored reply if one of the keys was used; undefined: none was. Throws *conflict* of kind `idempotency_drift` when one was
 * used with other params, *notSettled* of kind `uncertain` when it is not known how its request ended.
 */
export async function storedReply(ledger: Ledger, claim: Claim): Promise<string | undefined> {
  const records: LedgerRecord[] = [];
  for (const key of [claim.key, ...(claim.otherKeys ?? [])]) {
    const record = await ledger.find(claim.method, key);
    if (record) records.push(record);
  }
  if (records.some((record) => record.fingerprint !== claim.fingerprint)) {
    throw new AppError('conflict', 'this key was used with other params', { kind: 'idempotency_drift' });
  }
  return records.length === 0 ? undefined : (records.find(({ reply }) => reply !== undefined)?.reply ?? uncertain());
}

export function uncertain(): never {
  throw new AppError('notSettled', 'whether this request took effect is not known', { kind: 'uncertain' });
}

/** The handler refused before it did anything; what broke off half-way says so. */
export function isRefusal(error: unknown): boolean {
  return isAppError(error) && REFUSALS.has(error.kind) && error.data.isPartial !== true;
}
