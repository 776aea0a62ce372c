// Where each record lies: the layout of keys and its version.

import { sha256 } from '../base/canonical.ts';
import { AppError } from '../base/errors.ts';
import type { ApprovalId, ItemId, Seq, ThreadId, TurnId } from '../model/ids.ts';
import type { ThreadSortKey, TimeSortKey } from './store.ts';

/** Compared element by element: numbers before strings, a shorter key before its continuations. */
export type Key = readonly (string | number)[];

/** Half-open: `from` belongs to it, `to` does not. */
export interface KeyRange {
  readonly from: Key;
  readonly to: Key;
}

export const FORMAT_VERSION = 2;
export const formatKey: Key = [0, 'format'];
/** What the tables were made by; absent or another: they are made anew from the logs. */
export const tablesKey: Key = [0, 'tables'];
export const TABLES_VERSION = '1';
/** What the list of threads and its search were entered by; absent or another: all threads are looked at again. */
export const listKey: Key = [0, 'list'];
export const LIST_VERSION = '1';

/** Above every sequence number. */
export const ENDLESS = Number.MAX_SAFE_INTEGER;

/** Above every string that `named` gives, and so above every element of a key. */
export const HIGHEST = '\uffff';

/** Everything that continues this key, and the key itself. */
export const below = (prefix: Key): KeyRange => ({ from: prefix, to: [...prefix, HIGHEST] });

/** What is left of a range behind a row of it. */
export function beyond(range: KeyRange, key: Key, reverse: boolean): KeyRange {
  return reverse ? { from: range.from, to: key } : { from: after(key), to: range.to };
}

/** The place right behind a key: nothing lies between them. */
export const after = (key: Key): Key => [...key, 0];

/** The order of the database: element by element, numbers before strings, a shorter key before its continuations. */
export function compareKeys(a: Key, b: Key): number {
  for (let index = 0; index < Math.min(a.length, b.length); index += 1) {
    const [left, right] = [a[index] as string | number, b[index] as string | number];
    if (left === right) continue;
    if (typeof left !== typeof right) return typeof left === 'number' ? -1 : 1;
    return left < right ? -1 : 1;
  }
  return a.length - b.length;
}

/** Removals under way, of all tenants: found at the next start when they were cut off. */
export const removals = below([0, 'removal']);
export const removalKey = (tenant: string, id: ThreadId): Key => [0, 'removal', tenant, named(id)];

const PLAIN = /^[\x20-\x7e]{1,128}$/;

/** A name as an element of a key: as it is when it is short and printable, else by its digest. */
export const named = (name: string): string => (PLAIN.test(name) ? name : `#${sha256(name)}`);

const SORT_LETTER: Record<ThreadSortKey, string> = {
  createdAt: 'c',
  updatedAt: 'u',
  recencyAt: 'r',
  sectionPosition: 'q',
};
export const SORT_KEYS: readonly TimeSortKey[] = ['createdAt', 'updatedAt', 'recencyAt'];

/** The keys of one tenant. All records of a thread lie together, so that a turn touches few pages. */
export function keysOf(tenant: string) {
  const thread = (id: ThreadId, ...rest: Key): Key => [tenant, 't', named(id), ...rest];
  return {
    thread: (id: ThreadId) => thread(id),
    head: (id: ThreadId) => thread(id, 'h'),
    meta: (id: ThreadId) => thread(id, 'm'),
    log: (id: ThreadId, seq: Seq) => thread(id, 'l', seq),
    logs: (id: ThreadId) => thread(id, 'l'),
    floor: (id: ThreadId) => thread(id, 'f'),
    delta: (id: ThreadId, seq: Seq, turnId: TurnId) => thread(id, 'd', seq, named(turnId)),
    deltasFrom: (id: ThreadId, seq: Seq) => thread(id, 'd', seq),
    turn: (id: ThreadId, seq: Seq) => thread(id, 'u', seq),
    turnSeq: (id: ThreadId, turnId: TurnId) => thread(id, 'v', named(turnId)),
    item: (id: ThreadId, seq: Seq) => thread(id, 'i', seq),
    itemSeq: (id: ThreadId, itemId: ItemId) => thread(id, 'j', named(itemId)),
    context: (id: ThreadId, seq: Seq) => thread(id, 'c', seq),
    contexts: (id: ThreadId) => thread(id, 'c'),
    blobUse: (id: ThreadId, hash: string) => thread(id, 'b', hash),
    blobUses: (id: ThreadId) => thread(id, 'b'),
    onceUses: (id: ThreadId) => thread(id, 'k'),
    onceUse: (id: ThreadId, method: string, key: string) => thread(id, 'k', named(method), named(key)),
    blobOwner: (hash: string, id: ThreadId): Key => [tenant, 'b', hash, named(id)],
    blobOwners: (hash: string): Key => [tenant, 'b', hash],
    once: (method: string, key: string): Key => [tenant, 'k', named(method), named(key)],
    expiry: (atMs: number, method: string, key: string): Key => [tenant, 'x', atMs, named(method), named(key)],
    expiries: (beforeMs: number): KeyRange => ({ from: [tenant, 'x'], to: [tenant, 'x', beforeMs] }),
    openTurn: (id: ThreadId, turnId: TurnId): Key => [tenant, 'o', named(id), named(turnId)],
    /** Beside those of turns: whatever looks for what a stop may have cut off finds both. */
    openAside: (id: ThreadId, approvalId: ApprovalId): Key => [tenant, 'o', named(id), named(`question ${approvalId}`)],
    openTurnsOf: (id: ThreadId): Key => [tenant, 'o', named(id)],
    openTurns: (): Key => [tenant, 'o'],
    /** Ended turns of which deltas are left. */
    spent: (...turn: [] | [ThreadId] | [ThreadId, TurnId]): Key => [tenant, 'spent', ...turn.map(named)],
    listed: (archived: boolean, sort: ThreadSortKey, ...place: Key): Key => [
      tenant,
      's',
      archived ? 1 : 0,
      SORT_LETTER[sort],
      ...place,
    ],
    ofCwd: (archived: boolean, sort: ThreadSortKey, cwd: string, ...place: Key): Key => [
      tenant,
      'w',
      archived ? 1 : 0,
      SORT_LETTER[sort],
      named(cwd),
      ...place,
    ],
    ofProvider: (archived: boolean, sort: ThreadSortKey, provider: string, ...place: Key): Key => [
      tenant,
      'p',
      archived ? 1 : 0,
      SORT_LETTER[sort],
      named(provider),
      ...place,
    ],
    /** The order of the sections: of all threads of the tenant that are in one. */
    ofSection: (archived: boolean, sort: ThreadSortKey, sectionId: string, ...place: Key): Key => [
      tenant,
      'q',
      archived ? 1 : 0,
      SORT_LETTER[sort],
      named(sectionId),
      ...place,
    ],
    section: (...id: [] | [string]): Key => [tenant, 'section', ...id.map(named)],
    /** By the record that added it. */
    attachment: (id: ThreadId, ...seq: [] | [Seq]) => thread(id, 'a', ...seq),
    attachmentSeq: (id: ThreadId, type: string, key: string) => thread(id, 'e', named(type), named(key)),
    attachmentSeqs: (id: ThreadId) => thread(id, 'e'),
    attached: (type: string, key: string, ...id: [] | [ThreadId]): Key => [
      tenant,
      'attached',
      named(type),
      named(key),
      ...id.map(named),
    ],
    /** Threads with messages that the word index does not have yet. */
    due: (...id: [] | [ThreadId]): Key => [tenant, 'due', ...id.map(named)],
    wordsVersion: (): Key => [tenant, 'words'],
    word: (...word: [] | [string] | [string, number]): Key => [tenant, 'W', ...word],
    /** The thread of a document of the word index. */
    document: (...n: [] | [number]): Key => [tenant, 'D', ...n],
    /** How far the word index has come in a thread. */
    worded: (id: ThreadId) => thread(id, 'y'),
    documents: (id: ThreadId, ...n: [] | [number]) => thread(id, 'w', ...n),
    documentWords: (id: ThreadId, ...n: [] | [number]) => thread(id, 'z', ...n),
    /** Threads whose words have not been entered into the search index, or have changed since. */
    fresh: (...id: [] | [ThreadId]): Key => [tenant, 'f', ...id.map(named)],
    /** What of the thread lies in the search index. */
    searched: (id: ThreadId) => thread(id, 'g'),
    gram: (gram: string, ...number: [] | [number]): Key => [tenant, 'g', gram, ...number],
    /** Short names of threads in the search index. */
    numbered: (...number: [] | [number]): Key => [tenant, 'n', ...number],
    isDelta: (key: Key, turnId: TurnId): boolean => key.at(-1) === named(turnId),
  };
}
export type Keys = ReturnType<typeof keysOf>;

export function checkTenant(tenant: string): void {
  if (!PLAIN.test(tenant)) throw new AppError('invalid', 'invalid tenant: use 1 to 128 printable ASCII characters');
}

/** Throws *unavailable* when another version wrote the directory. */
export function checkFormat(found: string, directory: string): void {
  if (found === String(FORMAT_VERSION)) return;
  if (Number(found) >= 1 && Number(found) < FORMAT_VERSION)
    throw new AppError(
      'unavailable',
      `the history in ${directory} has the older format ${found}: start the server once, which brings it up to date`,
      { kind: 'older_format', found, supported: FORMAT_VERSION },
    );
  throw new AppError(
    'unavailable',
    `the history in ${directory} has format ${found} and this version reads only up to ${FORMAT_VERSION}: ` +
      'start the newer version that wrote it, or name another data directory',
    { kind: 'newer_format', found, supported: FORMAT_VERSION },
  );
}
