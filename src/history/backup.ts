// A copy of the history in another directory, made while the server goes on.

import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError, codeOf } from '../base/errors.ts';
import { makeFolders } from '../base/folders.ts';
import { silentLog } from '../base/log.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { foreignOwners, guarded } from './blob-uses.ts';
import { type Blobs, openBlobs, syncDirectory, syncFile } from './blobs.ts';
import { floorOf } from './gaps.ts';
import { below, keysOf } from './keys.ts';
import { LmdbRows } from './lmdb-rows.ts';
import { blobsDirectory, recordsDirectory, recordsFile } from './places.ts';
import type { OpenedHistory } from './read-only.ts';
import { decode } from './records.ts';
import { hideThread, removeRows } from './removal.ts';
import { threadsIn } from './threads-in.ts';
import { trimThread } from './trim.ts';

export interface Backup {
  readonly threads: number;
  readonly blobs: number;
}

/**
 * The history as it was at one moment, as a data directory of its own: `to` must be missing or empty. Threads that are
 * deleted meanwhile are left out when their long values went with them, and so are events that the retention removes. On
 * disk when it resolves.
 */
export async function backupHistory({ rows, directory }: OpenedHistory, to: string): Promise<Backup> {
  if (existsSync(to) && (await readdir(to)).length > 0)
    throw new AppError('invalid', `${to} is not empty; name an empty directory or a new one`);
  makeFolders(recordsDirectory(to));
  await rows.backup(recordsDirectory(to));
  const copied = new LmdbRows(recordsDirectory(to));
  try {
    const blobs = await copyBlobs(rows, copied, directory, to);
    let threads = 0;
    for (const _ of threadsIn(copied)) threads += 1;
    return { threads, blobs };
  } finally {
    await copied.close();
    await syncFile(recordsFile(to));
    await syncDirectory(recordsDirectory(to));
    await syncDirectory(to);
  }
}

async function copyBlobs(live: LmdbRows, copied: LmdbRows, directory: string, to: string): Promise<number> {
  const made = guarded(openBlobs(blobsDirectory(to)), copied);
  let count = 0;
  for (const { tenant, name } of [...threadsIn(copied)]) {
    const keys = keysOf(tenant);
    const hashes = copied.scan({ ...below(keys.blobUses(name)), limit: Infinity });
    let isGone = false;
    for (const { key } of hashes) {
      const outcome = await copyBlob(key.at(-1) as string, directory, to);
      if (outcome === 'copied') count += 1;
      isGone = isGone || outcome === 'missing';
    }
    if (!isGone) continue;
    const source = { rows: copied, keys, blobs: made, log: silentLog(), id: name, mayGoOn: () => true };
    if (live.get(keys.head(name)) === undefined) await leaveOut(copied, made, tenant, name);
    // They may have gone with records that the retention has removed since; then these go here, too.
    else await trimThread(source, floorOf(live, keys, name).seq);
  }
  // What a thread uses without a row of its own that says so.
  for await (const { row } of foreignOwners(copied))
    if ((await copyBlob(row.key[2] as string, directory, to)) === 'copied') count += 1;
  return count;
}

async function copyBlob(hash: string, directory: string, to: string): Promise<'copied' | 'there' | 'missing'> {
  const path = (root: string) => join(blobsDirectory(root), hash.slice(0, 2), hash);
  if (existsSync(path(to))) return 'there';
  await mkdir(dirname(path(to)), { recursive: true, mode: 0o700 });
  try {
    await copyFile(path(directory), path(to));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 'missing';
    throw error;
  }
  await syncFile(path(to));
  await syncDirectory(dirname(path(to)));
  return 'copied';
}

/** A thread whose long values are gone was deleted while they were copied; one that is damaged stays as it is. */
async function leaveOut(rows: LmdbRows, blobs: Blobs, tenant: string, id: string): Promise<void> {
  const keys = keysOf(tenant);
  const removal = { rows, keys, blobs, log: silentLog(), tenant, id };
  const text = rows.get(keys.meta(id));
  if (text === undefined) return;
  await rows.write(() => hideThread(removal, decode<ThreadMeta>(text).value));
  await removeRows(removal);
}
