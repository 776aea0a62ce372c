// Figures about a stored history, read without changing it.

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ThreadMeta } from '../model/thread.ts';
import type { Head } from './chain.ts';
import { spared } from './checksum.ts';
import { keysOf } from './keys.ts';
import { formatOf } from './lmdb-rows.ts';
import { blobsDirectory, recordsFile } from './places.ts';
import type { OpenedHistory } from './read-only.ts';
import { decode } from './records.ts';
import { breathe } from './rows.ts';
import { threadsIn } from './threads-in.ts';

export interface Stats {
  readonly format: string;
  readonly tenants: readonly {
    readonly tenant: string;
    readonly threads: number;
    readonly archived: number;
    readonly turns: number;
    readonly events: number;
  }[];
  /** Of the file, and how many of them hold nothing and come back with `compact`. */
  readonly bytes: number;
  readonly freeBytes: number;
  readonly rows: number;
  readonly blobs: number;
  readonly blobBytes: number;
}

export async function historyStats({ rows, directory }: OpenedHistory): Promise<Stats> {
  const tenants = new Map<
    string,
    { tenant: string; threads: number; archived: number; turns: number; events: number }
  >();
  for (const { tenant, name } of threadsIn(rows)) {
    const keys = keysOf(tenant);
    const sum = tenants.get(tenant) ?? { tenant, threads: 0, archived: 0, turns: 0, events: 0 };
    tenants.set(tenant, sum);
    const meta = spared(() => rows.get(keys.meta(name)));
    const head = spared(() => rows.get(keys.head(name)));
    sum.threads += 1;
    sum.events += head === undefined ? 0 : (JSON.parse(head) as Head).seq;
    if (meta !== undefined) {
      const { archived, turnCount } = decode<ThreadMeta>(meta).value;
      sum.turns += turnCount;
      sum.archived += archived ? 1 : 0;
    }
    if (sum.threads % 1000 === 0) await breathe();
  }
  const { entries, freeBytes } = rows.stats();
  const blobs = await blobSizes(blobsDirectory(directory));
  return {
    format: formatOf(rows),
    tenants: [...tenants.values()],
    bytes: (await stat(recordsFile(directory))).size,
    freeBytes,
    rows: entries,
    ...blobs,
  };
}

async function blobSizes(directory: string): Promise<{ blobs: number; blobBytes: number }> {
  const sizes = { blobs: 0, blobBytes: 0 };
  for (const folder of await readdir(directory).catch(() => [])) {
    for (const name of await readdir(join(directory, folder)).catch(() => [])) {
      sizes.blobs += 1;
      sizes.blobBytes += (await stat(join(directory, folder, name)).catch(() => ({ size: 0 }))).size;
    }
  }
  return sizes;
}
