// Keys of mutations and their replies, in the transaction of their effect.

import { canonicalJson } from '../base/canonical.ts';
import { AppError } from '../base/errors.ts';
import type { ThreadId } from '../model/ids.ts';
import { DamagedRow } from './checksum.ts';
import type { Key, Keys } from './keys.ts';
import type { Rows } from './rows.ts';
import type { Ledger, LedgerRecord, Once } from './store.ts';

/** How long a key without a thread is kept. */
export const KEY_LIFE_MS = 7 * 24 * 60 * 60 * 1000;
/** In the place of a fingerprint that is lost. */
const DAMAGED = 'damaged';
/** Expired keys removed by one write. */
const PRUNE_AT_ONCE = 32;

interface StoredKey extends LedgerRecord {
  /** Its thread, with which it goes; null: it expires. */
  readonly threadId: ThreadId | null;
  readonly atMs: number;
}

type Claimed = Omit<Once, 'reply' | 'otherKeys'> & { readonly reply?: string };

export interface LedgerRows extends Ledger {
  /**
   * Inside a transaction: stores the keys with their reply. Throws *conflict* of kind `already_done` (same digest: answer with the
   * stored reply) or `idempotency_drift` (another digest), *notSettled* of kind `uncertain` when it was claimed and not sealed.
   */
  record(once: Once, threadId: ThreadId | null): void;
}

export function openLedger(rows: Rows, keys: Keys, now: () => number): LedgerRows {
  const read = (method: string, key: string): StoredKey | undefined => {
    const found = readKey(rows, keys.once(method, key));
    if (found === undefined) return undefined;
    return found.threadId === null && found.atMs < now() - KEY_LIFE_MS ? undefined : found;
  };
  const insert = (once: Claimed, threadId: ThreadId | null) => {
    const { method, key, fingerprint, reply } = once;
    const found = read(method, key);
    if (found !== undefined) throw taken(found, once);
    const stored: StoredKey = { fingerprint, ...(reply !== undefined && { reply }), threadId, atMs: now() };
    rows.put(keys.once(method, key), canonicalJson(stored));
    if (threadId !== null) {
      rows.put(keys.onceUse(threadId, method, key), canonicalJson({ method, key }));
      return;
    }
    prune();
    rows.put(keys.expiry(stored.atMs, method, key), canonicalJson({ method, key }));
  };
  const prune = () => {
    for (const row of rows.scan({ ...keys.expiries(now() - KEY_LIFE_MS), limit: PRUNE_AT_ONCE })) {
      rows.remove(row.key);
      if (row.isDamaged) continue;
      const { method, key } = JSON.parse(row.text) as { method: string; key: string };
      // It may have been used anew since.
      if (read(method, key) === undefined) rows.remove(keys.once(method, key));
    }
  };
  return {
    async find(method, key) {
      const found = read(method, key);
      if (found?.fingerprint === DAMAGED) throw taken(found, { method, key, fingerprint: DAMAGED });
      return found && { fingerprint: found.fingerprint, ...(found.reply !== undefined && { reply: found.reply }) };
    },
    claim: (method, key, fingerprint) => rows.write(() => insert({ method, key, fingerprint }, null)),
    seal: (method, key, reply) =>
      rows.write(() => {
        const found = read(method, key);
        if (found === undefined) throw new AppError('notFound', `there is no claim of the key ${key} for ${method}`);
        rows.put(keys.once(method, key), canonicalJson({ ...found, reply }));
      }),
    release: (method, key) =>
      rows.write(() => {
        const found = read(method, key);
        if (found === undefined || found.reply !== undefined || found.fingerprint === DAMAGED) return;
        rows.remove(keys.once(method, key));
        rows.remove(keys.expiry(found.atMs, method, key));
      }),
    record: ({ key, otherKeys = [], ...once }, threadId) => {
      for (const each of [key, ...otherKeys]) insert({ ...once, key: each }, threadId);
    },
  };
}

/** A damaged record still says that the key was used, but not how that ended, and never lets it run again. */
function readKey(rows: Rows, key: Key): StoredKey | undefined {
  try {
    const text = rows.get(key);
    return text === undefined ? undefined : (JSON.parse(text) as StoredKey);
  } catch (error) {
    if (!(error instanceof DamagedRow)) throw error;
    return { fingerprint: DAMAGED, threadId: '', atMs: 0 };
  }
}

function taken(found: LedgerRecord, { key, method, fingerprint }: Claimed): AppError {
  if (found.fingerprint !== fingerprint && found.fingerprint !== DAMAGED)
    return new AppError('conflict', `the key ${key} was used for another ${method}`, {
      kind: 'idempotency_drift',
      key,
    });
  if (found.reply === undefined)
    return new AppError('notSettled', `how the ${method} with the key ${key} ended is not known`, {
      kind: 'uncertain',
      key,
    });
  return new AppError('conflict', `the ${method} with the key ${key} has been done`, { kind: 'already_done', key });
}
