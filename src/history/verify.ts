// Proving a history: every chain is walked, every long value compared with its digest.

import { AppError, messageOf } from '../base/errors.ts';
import type { StoredEvent } from '../model/event.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import { noSuchThread } from '../model/missing.ts';
import { foreignOwners, isUse } from './blob-uses.ts';
import { firstLink, type Head, linkOf, nextLink, textOf } from './chain.ts';
import { DamagedRow, spared } from './checksum.ts';
import { gapOf, isGap } from './gaps.ts';
import { below, ENDLESS, type Key, type Keys, keysOf, named, removalKey } from './keys.ts';
import type { LmdbRows } from './lmdb-rows.ts';
import { openReadOnly } from './read-only.ts';
import { decode } from './records.ts';
import { breathe, type Rows } from './rows.ts';
import { threadsIn } from './threads-in.ts';

export interface Damage {
  readonly tenant: string;
  readonly threadId: ThreadId;
  /** The first record of the thread that is not as it was written. */
  readonly seq: Seq;
  readonly problem: string;
}

export interface Verification {
  readonly threads: number;
  /** Kept records that were read; deltas of open turns are outside the chain. */
  readonly records: number;
  /** At most one of each thread; empty: everything is as it was written. */
  readonly damages: readonly Damage[];
}

/** Records read before other work gets its turn. */
const STEP = 500;
const STEP_CHARACTERS = 4 * 1024 * 1024;

/**
 * Walks the history in a data directory, or one thread of it, without changing anything; a server may be running on it.
 * Rejects as *notFound* when there is no history or no such thread, as *unavailable* when another version wrote it, and of kind
 * `damaged` when the structure of the database is.
 */
export async function verifyHistory(
  directory: string,
  options: { readonly threadId?: ThreadId; readonly signal?: AbortSignal } = {},
): Promise<Verification> {
  const history = await openReadOnly(directory);
  const { rows, readBlob: read } = history;
  try {
    const result = { threads: 0, records: 0, damages: [] as Damage[] };
    for (const { tenant, name } of threadsIn(rows, options.threadId)) {
      options.signal?.throwIfAborted();
      const walk = await walkThread({ rows, read, tenant, name });
      if (walk === undefined) continue;
      result.threads += 1;
      result.records += walk.records;
      if (walk.damage) result.damages.push(walk.damage);
    }
    if (options.threadId === undefined && result.damages.length === 0) {
      result.damages.push(...(await foreignUses(rows)));
      if (result.damages.length === 0) await checkCensus(rows, result.threads);
    }
    if (options.threadId !== undefined && result.threads === 0) throw noSuchThread(options.threadId);
    return result;
  } finally {
    await history.close();
  }
}

/** Looks before a count that does not fit is believed. */
const LOOKS = 4;

type Census = NonNullable<Awaited<ReturnType<LmdbRows['census']>>>;

const isHead = (key: Key): boolean => key[1] === 't' && key[3] === 'h' && key.length === 4;

/** Rows and threads that nothing leads to any more leave no other trace. */
async function checkCensus(rows: LmdbRows, threads: number): Promise<void> {
  const isWhole = (found: Census | undefined) =>
    found === undefined || (found.missing === 0 && found.fitting === threads);
  let found = await rows.census(isHead);
  // Beside a server one count may be of a moment before a commit and the other of one after it; damage is there each time.
  for (let look = 1; look < LOOKS && !isWhole(found); look += 1) found = await rows.census(isHead);
  if (found === undefined || isWhole(found)) return;
  const lost = found.missing === 0 ? `${found.fitting - threads} threads` : `${found.missing} stored values`;
  throw new AppError('unavailable', `${lost} cannot be found any more`, { kind: 'damaged' });
}

/** The first of each thread; what nothing leads from may keep a long value for ever, or be one that is missed elsewhere. */
async function foreignUses(rows: Rows): Promise<Damage[]> {
  const damages = new Map<string, Damage>();
  for await (const { tenant, row } of foreignOwners(rows)) {
    const threadId = row.text || (row.key[3] as string);
    const problem = `a row says that it uses the long value ${row.key[2]}, and it does not: ${MENDING}`;
    if (!damages.has(`${tenant} ${threadId}`))
      damages.set(`${tenant} ${threadId}`, { tenant, threadId, seq: 0, problem });
  }
  return [...damages.values()];
}

const MENDING = '`heddle history compact` puts that right';

type ReadBlob = (hash: string) => Promise<string | undefined>;

interface Walk {
  readonly rows: Rows;
  readonly read: ReadBlob;
  readonly tenant: string;
  /** The thread's id as it stands in keys. */
  readonly name: string;
}

/** Undefined: the thread has gone, or is just being removed. */
async function walkThread(
  walk: Walk,
): Promise<{ readonly records: number; readonly damage: Damage | undefined } | undefined> {
  const { rows, tenant, name } = walk;
  const keys = keysOf(tenant);
  const head = headOf(rows, keys, name);
  if (head === undefined) return isGone(walk) ? undefined : { records: 0, damage: headless(walk) };
  let last = { seq: 0, link: '', threadId: name };
  let records = 0;
  const damaged = (seq: Seq, problem: string) =>
    headOf(rows, keys, name) === undefined
      ? undefined
      : { records, damage: { tenant, threadId: last.threadId, seq, problem } };
  for (;;) {
    const range = { from: keys.log(name, last.seq + 1), to: keys.log(name, head.seq + 1) };
    const step = rows.scan({ ...range, limit: STEP, characters: STEP_CHARACTERS });
    if (step.length === 0) break;
    for (const { key, text, isDamaged } of step) {
      const seq = key[4] as Seq;
      if (isDamaged) return damaged(seq, 'it is not what was written');
      const checked = await checkRecord(walk, last, seq, text);
      if (typeof checked === 'string') return damaged(seq, checked);
      last = checked;
      records += 1;
    }
    await breathe();
  }
  if (head.link !== '' && last.link !== head.link) return damaged(last.seq + 1, 'the log ends before its head');
  return { records, damage: undefined };
}

/** It is being removed or not yet whole, or nothing of it is left. */
function isGone({ rows, tenant, name }: Walk): boolean {
  if (rows.scan({ ...below(removalKey(tenant, name)), limit: 1 }).length > 0) return true;
  return rows.scan({ ...below(keysOf(tenant).thread(name)), limit: 1 }).length === 0;
}

const headless = ({ tenant, name }: Walk): Damage => ({
  tenant,
  threadId: name,
  seq: 0,
  problem: 'nothing says where its log ends',
});

/** Undefined: the thread has gone. A head that is damaged itself is no part of the chain and is made anew from it. */
function headOf(rows: Rows, keys: Keys, name: string): Head | undefined {
  try {
    const text = rows.get(keys.head(name));
    return text === undefined ? undefined : (JSON.parse(text) as Head);
  } catch (error) {
    if (error instanceof DamagedRow) return { seq: ENDLESS, link: '' };
    throw error;
  }
}

interface Place {
  readonly seq: Seq;
  readonly link: string;
  readonly threadId: ThreadId;
}

/** The place after the record, or what is wrong with it. */
async function checkRecord(walk: Walk, last: Place, seq: Seq, record: string): Promise<Place | string> {
  const { read, name } = walk;
  if (isGap(record)) return checkGap(last, seq, record);
  const text = textOf(record);
  let stored: StoredEvent;
  let refs: ReturnType<typeof decode>['refs'];
  try {
    ({ value: stored, refs } = decode<StoredEvent>(text));
  } catch (error) {
    return `it cannot be read: ${messageOf(error)}`;
  }
  if (last.seq === 0 && stored.event.type !== 'threadCreated') return 'the beginning of the log is missing';
  const threadId = stored.event.type === 'threadCreated' ? stored.event.meta.id : last.threadId;
  const previous = last.seq === 0 ? firstLink(threadId) : last.link;
  const link = linkOf(record);
  if (nextLink(previous, text) !== link || stored.seq !== seq || named(threadId) !== name)
    return 'it is not what was written here';
  for (const { hash, bytes } of refs) {
    if ((await read(hash)) === undefined) return `its long value ${hash} (${bytes} bytes) is missing or damaged`;
    if (!isKept(walk, seq, record, hash)) return `no row says that it uses its long value ${hash}: ${MENDING}`;
  }
  return { seq, link, threadId };
}

/** Whether the rows are there that keep a long value, unless the record has gone since it was read. */
function isKept({ rows, tenant, name }: Walk, seq: Seq, record: string, hash: string): boolean {
  const keys = keysOf(tenant);
  return isUse({ rows, keys }, name, hash) || spared(() => rows.get(keys.log(name, seq))) !== record;
}

/** The removed records cannot be proved any more; that they are exactly those between their neighbours can. */
function checkGap(last: Place, seq: Seq, record: string): Place | string {
  const gap = spared(() => gapOf(record));
  if (gap === undefined) return 'it cannot be read';
  if (last.seq === 0) return 'the beginning of the log is missing';
  // What it stands for may have been read before it was removed.
  if (gap.previous !== last.link && gap.first > last.seq) return 'a record before it is missing';
  return { ...last, seq, link: linkOf(record) };
}
