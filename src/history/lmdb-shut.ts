// The durable history where it may be read and not written: everything that only reads, and no upkeep.

import { type Clock, systemClock } from '../base/clock.ts';
import { closeOnce } from '../base/close.ts';
import type { Log } from '../base/log.ts';
import { shutBlobs } from './blobs.ts';
import { spared } from './checksum.ts';
import {
  checkFormat,
  checkTenant,
  FORMAT_VERSION,
  keysOf,
  LIST_VERSION,
  listKey,
  TABLES_VERSION,
  tablesKey,
} from './keys.ts';
import { formatOf, LmdbRows } from './lmdb-rows.ts';
import { blobsDirectory, recordsDirectory } from './places.ts';
import { unreadable } from './read-only.ts';
import { mustBeWritten, type Shut, textOfShut } from './shut.ts';
import type { History } from './store.ts';
import { RowThreadStore } from './thread-store.ts';

export interface ShutHistoryOptions {
  readonly directory: string;
  readonly log: Log;
  readonly clock?: Clock;
}

/**
 * Changes nothing below the directory. Rejects as *unavailable* when the history may not be read either, is damaged, or would
 * have to be brought up to date first. What would write is refused with what `shut` says.
 */
export async function openShutHistory(options: ShutHistoryOptions, shut: Shut): Promise<History> {
  const { directory, log, clock = systemClock } = options;
  const text = textOfShut(shut);
  const rows = openRows(directory, text);
  try {
    checkUpToDate(rows, directory, shut);
  } catch (error) {
    await rows.close();
    throw error;
  }
  log.warn({ path: shut.path, code: shut.code }, text);
  const blobs = shutBlobs(blobsDirectory(directory), text);
  const isRelisting = spared(() => rows.get(listKey)) !== LIST_VERSION;
  const stores = new Map<string, RowThreadStore>();
  return {
    shut: text,
    forTenant(tenant) {
      checkTenant(tenant);
      const source = { rows, keys: keysOf(tenant), blobs, log };
      const work = { isRebuilding: () => false, isRelisting: () => isRelisting };
      const store = stores.get(tenant) ?? new RowThreadStore(source, tenant, clock.now, work);
      stores.set(tenant, store);
      return store;
    },
    close: closeOnce(async () => {
      for (const store of stores.values()) await store.close();
      await rows.close();
    }),
  };
}

function openRows(directory: string, shut: string): LmdbRows {
  try {
    return new LmdbRows(recordsDirectory(directory), { shut });
  } catch (error) {
    throw unreadable(directory, error);
  }
}

function checkUpToDate(rows: LmdbRows, directory: string, shut: Shut): void {
  const found = formatOf(rows);
  // Nothing has been written yet, or an older version did.
  const isOld = found === 'none' || (Number(found) >= 1 && Number(found) < FORMAT_VERSION);
  if (isOld) throw mustBeWritten(shut, 'it has to be brought up to date first');
  checkFormat(found, directory);
  if (spared(() => rows.get(tablesKey)) !== TABLES_VERSION)
    throw mustBeWritten(shut, 'its tables have to be made anew first');
}
