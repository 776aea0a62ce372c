// Giving space back: the database written anew without what was deleted, and long values that nobody names removed.

import { mkdirSync, rmSync } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isUsed } from './blob-uses.ts';
import { removeForeignOwners, walkNamed } from './blob-walk.ts';
import { openBlobs } from './blobs.ts';
import { below, checkFormat, HIGHEST, keysOf } from './keys.ts';
import { formatOf, LmdbRows } from './lmdb-rows.ts';
import { takePlace } from './migration.ts';
import { blobsDirectory, RECORDS_FILE, recordsDirectory, recordsFile, renewalDirectory } from './places.ts';
import { requireWritable } from './shut.ts';
import { tenantsIn } from './threads-in.ts';

export interface Compaction {
  /** Bytes of the database. */
  readonly before: number;
  readonly after: number;
  readonly blobsRemoved: number;
  /** Long values that nothing names, and that stay because a damaged record may name them. */
  readonly blobsInDoubt: number;
}

/**
 * Afterwards nothing of a deleted thread is below the data directory, unless damaged records leave a doubt. The caller owns
 * it. Cut off at any moment, the history is as it was or as it will be. Rejects as *unavailable* when another version wrote it
 * or it may not be written.
 */
export async function compactHistory(directory: string): Promise<Compaction> {
  requireWritable(directory, 'it would be written anew');
  const before = (await stat(recordsFile(directory))).size;
  const rows = new LmdbRows(recordsDirectory(directory));
  let orphans: { readonly removed: number; readonly inDoubt: number };
  try {
    checkFormat(formatOf(rows), directory);
    rmSync(renewalDirectory(directory), { recursive: true, force: true });
    mkdirSync(renewalDirectory(directory), { mode: 0o700 });
    orphans = await removeOrphans(rows, directory);
    await removeDeadNumbers(rows);
    await rows.backup(renewalDirectory(directory));
  } finally {
    await rows.close();
  }
  const file = await open(join(renewalDirectory(directory), RECORDS_FILE), 'r+');
  await file.sync();
  await file.close();
  await takePlace(directory);
  const after = (await stat(recordsFile(directory))).size;
  return { before, after, blobsRemoved: orphans.removed, blobsInDoubt: orphans.inDoubt };
}

/** The logs say what is used; the rows that repeat it only ever keep more. */
async function removeOrphans(rows: LmdbRows, directory: string) {
  const blobs = openBlobs(blobsDirectory(directory));
  const { hashes, isDoubtful } = await walkNamed(rows);
  if (!isDoubtful) await removeForeignOwners(rows);
  let removed = 0;
  let inDoubt = 0;
  for (const folder of await readdir(blobsDirectory(directory))) {
    if (!/^[0-9a-f]{2}$/.test(folder)) continue;
    for (const hash of await readdir(join(blobsDirectory(directory), folder))) {
      if (hashes.has(hash) || isUsed(rows, hash)) continue;
      if (isDoubtful) inDoubt += 1;
      else {
        blobs.drop(hash, () => false);
        removed += 1;
      }
    }
  }
  return { removed, inDoubt };
}

/** Entries of the search index whose thread has gone: its own row of them was damaged when it was removed. */
async function removeDeadNumbers(rows: LmdbRows): Promise<void> {
  for (const tenant of tenantsIn(rows)) {
    const keys = keysOf(tenant);
    const dead = new Set<number>();
    for (const { key, text, isDamaged } of rows.scan({ ...below(keys.numbered()), limit: Infinity }))
      if (isDamaged || rows.scan({ ...below(keys.thread(text)), limit: 1 }).length === 0)
        dead.add(key.at(-1) as number);
    if (dead.size === 0) continue;
    const grams = rows.scan({ ...below(keys.gram('')), to: [tenant, 'g', HIGHEST], limit: Infinity });
    await rows.write(() => {
      for (const { key } of grams) if (dead.has(key.at(-1) as number)) rows.remove(key);
      for (const n of dead) rows.remove(keys.numbered(n));
    });
  }
}
