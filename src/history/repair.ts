// Making damaged records whole from a backup, or putting the backup in the place of a database that cannot be used.

import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir, readdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { StoredEvent } from '../model/event.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import { readBlob, syncDirectory, syncFile } from './blobs.ts';
import { firstLink, type Head, type Link, linkOf, nextLink, textOf } from './chain.ts';
import { spared } from './checksum.ts';
import { gapOf } from './gaps.ts';
import { checkFormat, ENDLESS, keysOf, tablesKey } from './keys.ts';
import { openLmdbHistory } from './lmdb.ts';
import { formatOf, LmdbRows } from './lmdb-rows.ts';
import { blobsDirectory, recordsDirectory } from './places.ts';
import { type OpenedHistory, openReadOnly } from './read-only.ts';
import { decode } from './records.ts';
import type { Row } from './rows.ts';
import { requireWritable } from './shut.ts';
import { threadsIn } from './threads-in.ts';

export interface Repair {
  readonly repaired: number;
  /** Records of which the backup has no whole copy either. */
  readonly lost: readonly { readonly threadId: ThreadId; readonly seq: Seq }[];
}

/**
 * Puts records and long values that are damaged or missing back as the backup has them, where they fit into the chain, and
 * makes all tables anew. Nothing that is newer than the backup is touched. The caller owns the data directory. Rejects as
 * *unavailable* when another version wrote either, or the history may not be written.
 */
export async function repairHistory(directory: string, backup: string, log: Log): Promise<Repair> {
  requireWritable(directory, 'what is put back is written there');
  const whole = await openReadOnly(backup);
  try {
    const rows = new LmdbRows(recordsDirectory(directory));
    const result = { repaired: 0, lost: [] as { threadId: ThreadId; seq: Seq }[] };
    try {
      checkFormat(formatOf(rows), directory);
      for (const { tenant, name } of [...threadsIn(rows)]) {
        const work = new ThreadRepair(rows, whole, directory, tenant, name);
        await work.run();
        result.repaired += work.repaired;
        result.lost.push(...work.lost.map((seq) => ({ threadId: name, seq })));
      }
      await rows.write(() => rows.remove(tablesKey));
    } finally {
      await rows.close();
    }
    const history = await openLmdbHistory({ directory, log });
    await history.rebuilt;
    await history.close();
    return result;
  } finally {
    await whole.close();
  }
}

/** Sets the history aside and puts the backup's in its place; gives the path of what was set aside. */
export async function restoreBackup(directory: string, backup: string): Promise<string | undefined> {
  await (await openReadOnly(backup)).close();
  const place = recordsDirectory(directory);
  const fresh = `${place}.restored`;
  await cp(recordsDirectory(backup), fresh, {
    recursive: true,
    force: true,
    filter: (path) => !path.endsWith('lock.mdb'),
  });
  await syncTree(fresh);
  const aside = `${place}.damaged-${new Date().toISOString().replace(/[:.]/g, '-')}`;
  const hadOne = existsSync(place);
  if (hadOne) await rename(place, aside);
  await rename(fresh, place);
  await syncDirectory(directory);
  return hadOne ? aside : undefined;
}

/** Makes the contents of a folder durable. */
async function syncTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await syncTree(path);
    else await syncFile(path);
  }
  await syncDirectory(folder);
}

class ThreadRepair {
  readonly #rows: LmdbRows;
  readonly #whole: OpenedHistory;
  readonly #directory: string;
  readonly #tenant: string;
  readonly #name: string;
  repaired = 0;
  readonly lost: Seq[] = [];

  constructor(rows: LmdbRows, whole: OpenedHistory, directory: string, tenant: string, name: string) {
    this.#rows = rows;
    this.#whole = whole;
    this.#directory = directory;
    this.#tenant = tenant;
    this.#name = name;
  }

  /** Walks both logs side by side; they have the same records up to the backup's end. */
  async run(): Promise<void> {
    const keys = keysOf(this.#tenant);
    const range = (after: Seq) => ({ from: keys.log(this.#name, after + 1), to: keys.log(this.#name, ENDLESS) });
    const backedUp = spared(() => this.#whole.rows.get(keys.head(this.#name)));
    const end = backedUp === undefined ? 0 : (JSON.parse(backedUp) as Head).seq;
    let after: Seq = 0;
    let link: Link | undefined;
    for (;;) {
      const [mine] = this.#rows.scan({ ...range(after), limit: 1 });
      const [theirs] = after < end ? this.#whole.rows.scan({ ...range(after), limit: 1 }) : [];
      const seq = Math.min(seqOf(mine), seqOf(theirs));
      if (seq === ENDLESS) return;
      const gap = mine && spared(() => gapOf(mine.text));
      // What the backup still has of records that were removed since stays removed.
      if (gap !== undefined && seq < seqOf(mine) && gap.first <= seq) {
        after = seq;
        continue;
      }
      link = await this.#settle(
        seq,
        link,
        seqOf(mine) === seq ? mine : undefined,
        seqOf(theirs) === seq ? theirs : undefined,
      );
      after = seq;
    }
  }

  /** Gives the link of the record, as far as it is known. */
  async #settle(
    seq: Seq,
    previous: Link | undefined,
    mine: Row | undefined,
    theirs: Row | undefined,
  ): Promise<Link | undefined> {
    if (mine !== undefined && this.#isWhole(previous, mine)) {
      if (!(await this.#fillBlobs(mine.text))) this.lost.push(seq);
      return linkOf(mine.text);
    }
    if (theirs === undefined || theirs.isDamaged || !this.#isWhole(previous, theirs)) {
      this.lost.push(seq);
      return undefined;
    }
    await this.#rows.write(() => this.#rows.put(theirs.key, theirs.text));
    this.repaired += 1;
    if (!(await this.#fillBlobs(theirs.text))) this.lost.push(seq);
    return linkOf(theirs.text);
  }

  /** Behind a lost record only the checksum tells. */
  #isWhole(previous: Link | undefined, row: Row): boolean {
    if (row.isDamaged) return false;
    const gap = spared(() => gapOf(row.text));
    if (gap !== undefined) return previous === undefined || gap.previous === previous;
    const text = textOf(row.text);
    const before = previous ?? this.#beginning(text);
    return before === undefined || nextLink(before, text) === linkOf(row.text);
  }

  #beginning(text: string): Link | undefined {
    const event = spared(() => decode<StoredEvent>(text).value.event);
    return event?.type === 'threadCreated' ? firstLink(event.meta.id) : undefined;
  }

  async #fillBlobs(sealedText: string): Promise<boolean> {
    const refs = spared(() => decode<StoredEvent>(textOf(sealedText)).refs) ?? [];
    for (const { hash } of refs) {
      if ((await readBlob(blobsDirectory(this.#directory), hash)) !== undefined) continue;
      if ((await this.#whole.readBlob(hash)) === undefined) return false;
      const path = (root: string) => join(blobsDirectory(root), hash.slice(0, 2), hash);
      await mkdir(dirname(path(this.#directory)), { recursive: true, mode: 0o700 });
      await copyFile(path(this.#whole.directory), path(this.#directory));
      await syncFile(path(this.#directory));
      await syncDirectory(dirname(path(this.#directory)));
      this.repaired += 1;
    }
    return true;
  }
}

const seqOf = (row: Row | undefined): Seq => (row?.key[4] as Seq | undefined) ?? ENDLESS;

/** Nothing to take from: *notFound*. */
export function checkBackup(backup: string): void {
  if (!existsSync(recordsDirectory(backup)))
    throw new AppError(
      'notFound',
      `there is no backup in ${backup}; name a directory that "heddle history backup" made`,
    );
}
