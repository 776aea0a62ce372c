// Removing files and trees, but never what somebody lives in.

import { readdir, rm, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, isAppError } from '../base/errors.ts';
import { throwIfAborted } from '../base/signals.ts';
import { fsFault, partialFault, systemFault } from './fault.ts';
import { type EntryName, enter, type Folder } from './folder.ts';
import type { Protection } from './protection.ts';
import type { Reach } from './reach.ts';
import { statsOf } from './replacement.ts';
import { checkHeld, checkTree } from './whole-tree.ts';

/** How many entries of a folder are removed at once. */
const AT_ONCE = 16;

export interface RemoveWishes {
  readonly isRecursive: boolean;
  /** What is not there counts as removed. */
  readonly isForced: boolean;
  readonly protection: Protection;
}

/** Removes the entry itself: of a link, never what it leads to. An abort leaves what was not removed yet. */
export async function remove(path: string, wishes: RemoveWishes, reach: Reach, signal: AbortSignal): Promise<void> {
  const place = await reach.place(path, 'entry').catch((error: unknown) => {
    if (wishes.isForced && isAppError(error, 'notFound')) return undefined;
    throw error;
  });
  if (!place) return;
  const brokenOff = (error: unknown) => Promise.reject(partialFault(error, path));
  try {
    wishes.protection.checkWritable(join(place.folder.path, place.name), path);
    const stats = await statsOf(place.path);
    if (!stats) {
      if (!wishes.isForced) throw systemFault('ENOENT', path);
    } else if (!stats.isDirectory()) {
      if (stats.isSymbolicLink()) wishes.protection.checkNotOfTop(place.real, path);
      await unlink(place.path);
    } else {
      await wishes.protection.checkRemovable({ shown: path, real: place.real, path: place.path });
      if (wishes.isRecursive) await checkTree(place.folder, place.name, reach, signal);
      if (wishes.isRecursive) await removeTree(place.folder, place.name, reach, signal).catch(brokenOff);
      else await rmdir(place.path);
    }
  } catch (error) {
    throw fsFault(error, path);
  } finally {
    await place.close();
  }
}

async function removeTree(parent: Folder, name: EntryName, reach: Reach, signal: AbortSignal): Promise<void> {
  const folder = await enter(parent, name);
  try {
    const entries = await readdir(folder.at('.'), { withFileTypes: true, encoding: 'buffer' });
    for (let from = 0; from < entries.length; from += AT_ONCE) {
      throwIfAborted(signal);
      const some = entries.slice(from, from + AT_ONCE);
      // It may have come since the whole was looked through.
      for (const each of some) checkHeld(join(folder.path, each.name.toString()), reach);
      await Promise.all(
        some.filter((each) => !each.isDirectory()).map((each) => rm(folder.at(each.name), { force: true })),
      );
      for (const each of some.filter((one) => one.isDirectory())) await removeTree(folder, each.name, reach, signal);
    }
  } finally {
    await folder.close();
  }
  await rmdir(parent.at(name)).catch((error) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
}
