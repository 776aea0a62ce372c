// What is known of a path without reading it, and the entries of a folder.

import { type Dirent, lstat, type Stats, stat } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ResultInput } from '../rpc/declare.ts';
import { about, fsFault } from './fault.ts';
import { openFolder } from './folder.ts';
import type { fsGetMetadata, fsReadDirectory } from './methods.ts';
import type { QuickReads } from './quick-reads.ts';
import type { Place, Reach } from './reach.ts';

type Metadata = ResultInput<typeof fsGetMetadata>;
type DirectoryPage = ResultInput<typeof fsReadDirectory>;
type Entry = DirectoryPage['entries'][number];

/** How many bytes of names one answer may carry. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
/** What an entry takes beside its name. */
const ENTRY_BYTES = 80;

/** Follows a link at the end for all but `isSymlink`. One call of the system for what is no link. */
export async function metadataOf(path: string, reach: Reach, quick: QuickReads): Promise<Metadata> {
  const own = reach.isConfined ? undefined : quick.stats(path);
  return own && !own.isSymbolicLink() ? metadata(own, false) : metadataAside(path, reach);
}

function metadataAside(path: string, reach: Reach): Promise<Metadata> {
  return reach.isConfined ? confinedMetadata(path, reach) : plainMetadata(path, path);
}

/** With callbacks: the promises of the library cost more than the call. */
function plainMetadata(path: string, shown: string): Promise<Metadata> {
  return new Promise((resolve, reject) => {
    lstat(path, (error, own) => {
      if (error) reject(fsFault(error, shown));
      else if (!own.isSymbolicLink()) resolve(metadata(own, false));
      else
        stat(path, (failure, target) => (failure ? reject(fsFault(failure, shown)) : resolve(metadata(target, true))));
    });
  });
}

async function confinedMetadata(path: string, reach: Reach): Promise<Metadata> {
  const entry = await reach.place(path, 'entry');
  try {
    const own = await ownStats(entry.path, path);
    if (!own.isSymbolicLink()) return metadata(own, false);
  } finally {
    await entry.close();
  }
  const target = await reach.place(path, 'target');
  try {
    return metadata(await ownStats(target.path, path), true);
  } finally {
    await target.close();
  }
}

function ownStats(path: string, shown: string): Promise<Stats> {
  return new Promise((resolve, reject) => {
    lstat(path, (error, stats) => (error ? reject(fsFault(error, shown)) : resolve(stats)));
  });
}

function metadata(stats: Stats, isSymlink: boolean): Metadata {
  return {
    isDirectory: stats.isDirectory(),
    isFile: stats.isFile(),
    isSymlink,
    createdAtMs: Math.trunc(stats.birthtimeMs),
    modifiedAtMs: Math.trunc(stats.mtimeMs),
    size: stats.size,
    mode: stats.mode & 0o7777,
  };
}

export async function readDirectory(
  path: string,
  page: { readonly after?: string | null | undefined; readonly limit?: number | null | undefined },
  reach: Reach,
): Promise<DirectoryPage> {
  const place = await reach.place(path, 'target');
  try {
    const found = await about(path, () => entriesOf(place));
    const { after } = page;
    found.sort((a, b) => (a.name < b.name ? -1 : 1));
    const rest = after === undefined || after === null ? found : found.filter(({ name }) => name > after);
    const entries: Entry[] = [];
    let bytes = 0;
    for (const each of rest) {
      if (entries.length >= (page.limit ?? Number.POSITIVE_INFINITY) || bytes > MAX_PAGE_BYTES) {
        return { entries, nextAfter: entries.at(-1)!.fileName };
      }
      const entry = each.isSymbolicLink()
        ? await linkEntry(each.name, join(place.real, each.name), reach)
        : { fileName: each.name, isDirectory: each.isDirectory(), isFile: each.isFile(), isSymlink: false };
      if (entry === undefined) continue;
      entries.push(entry);
      bytes += ENTRY_BYTES + Buffer.byteLength(entry.fileName);
    }
    return { entries };
  } finally {
    await place.close();
  }
}

async function entriesOf(place: Place): Promise<Dirent[]> {
  const folder = await openFolder(place.path);
  try {
    return await readdir(folder.at('.'), { withFileTypes: true });
  } finally {
    await folder.close();
  }
}

/** Undefined for a link that leads nowhere; one that leads out of reach is shown as neither file nor folder. */
async function linkEntry(name: string, path: string, reach: Reach): Promise<Entry | undefined> {
  if (reach.isConfined && !(await reach.holds(path))) {
    return { fileName: name, isDirectory: false, isFile: false, isSymlink: true };
  }
  try {
    const { isDirectory, isFile } = await metadataAside(path, reach);
    return { fileName: name, isDirectory, isFile, isSymlink: true };
  } catch {
    return undefined;
  }
}
