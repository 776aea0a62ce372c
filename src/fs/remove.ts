// Removing files and trees, but never what somebody lives in.

import { readdir, rm, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError, codeOf, isAppError } from '../base/errors.ts';
import { throwIfAborted } from '../base/signals.ts';
import { isInside, realPathOf } from './containment.ts';
import { fsFault, partialFault, systemFault } from './fault.ts';
import { enter, type Folder } from './folder.ts';
import type { Reach } from './reach.ts';
import { statsOf } from './replacement.ts';

/** How many entries of a folder are removed at once. */
const AT_ONCE = 16;

export interface RemoveWishes {
  readonly isRecursive: boolean;
  /** What is not there counts as removed. */
  readonly isForced: boolean;
  /** Folders that are refused, and whatever holds one of them. */
  readonly protectedFolders: readonly string[];
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
    const stats = await statsOf(place.path);
    if (!stats) {
      if (!wishes.isForced) throw systemFault('ENOENT', path);
    } else if (!stats.isDirectory()) await unlink(place.path);
    else {
      await checkNotProtected(path, place.real, place.path, wishes.protectedFolders);
      if (wishes.isRecursive) await removeTree(place.folder, place.name, reach, signal).catch(brokenOff);
      else await rmdir(place.path);
    }
  } catch (error) {
    throw fsFault(error, path);
  } finally {
    await place.close();
  }
}

/** By name and by identity: a folder may have several names. */
async function checkNotProtected(shown: string, real: string, path: string, folders: readonly string[]): Promise<void> {
  const own = await stat(path);
  for (const folder of ['/', ...folders]) {
    const home = await realPathOf(folder).catch(() => folder);
    const same = await stat(home).catch(() => undefined);
    if (isInside(home, real) || (same?.dev === own.dev && same.ino === own.ino)) {
      const text = `${shown} is not removed: it is, or holds, ${folder}, which is in use as a home, workspace or data folder`;
      throw new AppError('forbidden', text, { kind: 'protected', path: shown, protectedPath: folder });
    }
  }
}

async function removeTree(parent: Folder, name: string, reach: Reach, signal: AbortSignal): Promise<void> {
  const folder = await enter(parent, name);
  try {
    const entries = await readdir(folder.at('.'), { withFileTypes: true });
    for (let from = 0; from < entries.length; from += AT_ONCE) {
      throwIfAborted(signal);
      const some = entries.slice(from, from + AT_ONCE);
      await Promise.all(
        some.filter((each) => !each.isDirectory()).map((each) => rm(folder.at(each.name), { force: true })),
      );
      for (const each of some.filter((one) => one.isDirectory())) {
        if (!reach.holdsReal(join(folder.path, each.name))) throw systemFault('EACCES', join(folder.path, each.name));
        await removeTree(folder, each.name, reach, signal);
      }
    }
  } finally {
    await folder.close();
  }
  await rmdir(parent.at(name)).catch((error) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
}
