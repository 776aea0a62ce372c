// The durable history: LMDB for records, files for long values, in one directory.

import { constants, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, systemClock } from '../base/clock.ts';
import { closeOnce } from '../base/close.ts';
import { AppError, isAppError, messageOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { ThreadId } from '../model/ids.ts';
import { guarded } from './blob-uses.ts';
import { openBlobs } from './blobs.ts';
import { spared } from './checksum.ts';
import { applyEventRetention } from './event-retention.ts';
import { headerProblem } from './file-header.ts';
import {
  checkFormat,
  checkTenant,
  FORMAT_VERSION,
  formatKey,
  keysOf,
  LIST_VERSION,
  listKey,
  removals,
  TABLES_VERSION,
  tablesKey,
} from './keys.ts';
import { formatOf, LmdbRows } from './lmdb-rows.ts';
import { openShutHistory } from './lmdb-shut.ts';
import { migrate } from './migration.ts';
import { blobsDirectory, recordsDirectory, recordsFile } from './places.ts';
import { noteClosing, noteOpening } from './probe.ts';
import { unreadable } from './read-only.ts';
import { removeRows } from './removal.ts';
import { applyRetention, type Retention } from './retention.ts';
import type { Rows } from './rows.ts';
import { requireWritable, shutOf } from './shut.ts';
import type { History } from './store.ts';
import { RowThreadStore } from './thread-store.ts';
import { tenantsIn, threadsIn } from './threads-in.ts';

export interface LmdbHistoryOptions {
  /** The data directory; the history lies in `history/` below it. The caller owns its lock. */
  readonly directory: string;
  readonly log: Log;
  readonly clock?: Clock;
  /** What to keep; asked before each round. Default: everything. */
  readonly retention?: () => Retention;
  /** Such threads are not deleted by the retention. */
  readonly isInUse?: (tenant: string, id: ThreadId) => boolean;
}

/** When the retention is looked after: soon after the start, then again and again. */
const FIRST_RETENTION_MS = 60_000;
const RETENTION_MS = 3_600_000;

export interface LmdbHistory extends History {
  /** Settles when tables that were missing have been made anew, or the history closes; meanwhile it serves what there is. */
  readonly rebuilt: Promise<void>;
}

/**
 * Opens the history, makes it where there is none, and finishes removals that were cut off. Rejects as *unavailable* when a
 * newer program wrote it. Where it may be read and not written it is opened for that, and says so. Closing flushes.
 *
 * A process that exits while appends are under way, by `process.exit` or an uncaught error, may hang in the database's own
 * exit and keep its locks: close first, or end it with SIGKILL, which costs nothing that was acknowledged.
 */
export async function openLmdbHistory(options: LmdbHistoryOptions): Promise<LmdbHistory> {
  const { directory, log, clock = systemClock } = options;
  const shut = shutOf(directory);
  if (shut !== undefined) return { ...(await openShutHistory(options, shut)), rebuilt: Promise.resolve() };
  mkdirSync(recordsDirectory(directory), { recursive: true, mode: 0o700 });
  noteOpening(directory, Date.now());
  const rows = await openRows(directory);
  try {
    await settleFormat(rows, directory);
  } catch (error) {
    await rows.close();
    throw error;
  }
  let isRebuilding = spared(() => rows.get(tablesKey)) !== TABLES_VERSION;
  let isRelisting = spared(() => rows.get(listKey)) !== LIST_VERSION;
  const blobs = guarded(openBlobs(blobsDirectory(directory)), rows, { log, clock, isRebuilding: () => isRebuilding });
  const sourceOf = (tenant: string) => ({ rows, keys: keysOf(tenant), blobs, log });
  await finishRemovals(rows, (tenant, id) => removeRows({ ...sourceOf(tenant), tenant, id }));
  const stores = new Map<string, RowThreadStore>();
  const closing = new AbortController();
  const storeOf = (tenant: string): RowThreadStore => {
    const known = stores.get(tenant);
    if (known !== undefined) return known;
    const store = new RowThreadStore(sourceOf(tenant), tenant, clock.now, {
      isRebuilding: () => isRebuilding,
      isRelisting: () => isRelisting,
    });
    stores.set(tenant, store);
    // Behind what waits to be served first.
    setImmediate(() => {
      void store.upkeep.indexed();
      void store.upkeep.swept();
    });
    return store;
  };
  const rebuildAll = async () => {
    log.warn({ directory }, 'the tables of the history are made anew from its logs');
    for (const { tenant, name } of threadsIn(rows)) {
      if (closing.signal.aborted) return;
      await storeOf(tenant).rebuild(name);
    }
    await rows.write(() => rows.put(tablesKey, TABLES_VERSION));
    isRebuilding = false;
  };
  const relistAll = async () => {
    for (const tenant of tenantsIn(rows)) if (!(await storeOf(tenant).relist(closing.signal))) return;
    await rows.write(() => rows.put(listKey, LIST_VERSION));
    isRelisting = false;
  };
  const bringUp = async () => {
    if (isRebuilding) await rebuildAll();
    if (isRelisting && !closing.signal.aborted) await relistAll();
  };
  const rebuilt = bringUp().catch((error: unknown) =>
    log.error({ err: error }, 'the tables could not all be made anew'),
  );
  let measuredAtMs = Number.NEGATIVE_INFINITY;
  const skipped = new Map<string, Set<ThreadId>>();
  const retain = async (retention: Retention) => {
    // Not even a look: a server that nobody uses leaves its disk alone, and the table of readers lies on it.
    if (Object.values(retention).every((limit) => limit === null)) return;
    const since = measuredAtMs;
    measuredAtMs = clock.now();
    for (const tenant of tenantsIn(rows)) {
      const isInUse = (id: ThreadId) => options.isInUse?.(tenant, id) ?? false;
      const { signal } = closing;
      const work = { ...sourceOf(tenant), store: storeOf(tenant), tenant, now: clock.now, isInUse, signal };
      await applyRetention(work, retention);
      // Only the tables know which turns are open.
      if (isRebuilding) continue;
      skipped.set(tenant, skipped.get(tenant) ?? new Set());
      await applyEventRetention(work, retention, { since, skipped: skipped.get(tenant) as Set<ThreadId> });
    }
  };
  const stopRetention = options.retention && repeated(clock, options.retention, retain, log);
  return {
    rebuilt,
    forTenant(tenant) {
      checkTenant(tenant);
      return storeOf(tenant);
    },
    close: closeOnce(async () => {
      closing.abort();
      await stopRetention?.();
      await rebuilt;
      for (const store of stores.values()) await store.close();
      await rows.close();
      noteClosing(directory);
    }),
  };
}

/** Gives what ends it, and waits for what still runs. */
function repeated(
  clock: Clock,
  retention: () => Retention,
  retain: (retention: Retention) => Promise<void>,
  log: Log,
): () => Promise<void> {
  let running = Promise.resolve();
  const next = (ms: number): (() => void) =>
    clock.timer(ms, () => {
      running = retain(retention())
        .catch((error: unknown) => log.error({ err: error }, 'the retention could not be looked after'))
        .then(() => {
          cancel = next(RETENTION_MS);
        });
    });
  let cancel = next(FIRST_RETENTION_MS);
  return async () => {
    cancel();
    await running;
    cancel();
  };
}

/** For commands that write a thread as a whole, in a history that nobody else has. */
export async function openForImport(options: LmdbHistoryOptions, tenant: string) {
  const { directory, log } = options;
  checkTenant(tenant);
  requireWritable(directory, 'what is taken in is written there');
  await (await openLmdbHistory(options)).close();
  const rows = await openRows(directory);
  const isRebuilding = () => spared(() => rows.get(tablesKey)) !== TABLES_VERSION;
  const blobs = guarded(openBlobs(blobsDirectory(directory)), rows, { log, isRebuilding });
  const target = { rows, keys: keysOf(tenant), blobs, log, tenant };
  return { target, close: () => rows.close() };
}

/** A disk that refuses the first pages of a new database would end the process. */
function tryRoom(directory: string): void {
  const trial = join(recordsDirectory(directory), 'room');
  try {
    writeFileSync(trial, Buffer.alloc(65_536), { mode: 0o600 });
    rmSync(trial);
  } catch (error) {
    throw new AppError(
      'unavailable',
      `the history cannot be made in ${directory}: ${messageOf(error)}`,
      {},
      { cause: error },
    );
  }
}

const FOR_WRITING = constants.R_OK | constants.W_OK;

async function openRows(directory: string): Promise<LmdbRows> {
  const file = recordsFile(directory);
  // Power was cut during the very first opening: nothing was acknowledged yet.
  if (!existsSync(blobsDirectory(directory)) && headerProblem(file) !== undefined) renameSync(file, `${file}.torn`);
  if (!existsSync(file)) tryRoom(directory);
  try {
    await migrate(directory);
    return new LmdbRows(recordsDirectory(directory));
  } catch (error) {
    throw isAppError(error) && error.data.kind !== 'damaged' ? error : unreadable(directory, error, FOR_WRITING);
  }
}

async function settleFormat(rows: LmdbRows, directory: string): Promise<void> {
  const found = formatOf(rows);
  if (found !== 'none') checkFormat(found, directory);
  else
    await rows.write(() => {
      rows.put(formatKey, String(FORMAT_VERSION));
      rows.put(tablesKey, TABLES_VERSION);
      rows.put(listKey, LIST_VERSION);
    });
}

async function finishRemovals(rows: Rows, finish: (tenant: string, id: string) => Promise<void>): Promise<void> {
  for (const { text } of rows.scan({ ...removals, limit: Infinity })) {
    const { tenant, id } = JSON.parse(text) as { tenant: string; id: string };
    await finish(tenant, id);
  }
}
