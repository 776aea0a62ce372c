// Copying files and trees with their links and modes.

import { constants, type Dirent } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { AppError, codeOf } from '../base/errors.ts';
import { throwIfAborted } from '../base/signals.ts';
import { isInside } from './containment.ts';
import { fsFault, partialFault, systemFault } from './fault.ts';
import { type EntryName, enter, type Folder } from './folder.ts';
import type { Protection } from './protection.ts';
import type { Place, Reach } from './reach.ts';
import { checkRegular } from './read-file.ts';
import { type Commits, Replacement, statsOf, type Target, temporaryName } from './replacement.ts';
import { checkHeld, checkTree } from './whole-tree.ts';

const { O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const BLOCK = 1024 * 1024;
const MAX_SKIPPED_SHOWN = 100;

export interface CopyWishes {
  readonly source: string;
  readonly destination: string;
  readonly isRecursive: boolean;
}

export interface CopyParts {
  readonly reach: Reach;
  readonly commits: Commits;
  readonly protection: Protection;
  /**
   * A file that is being copied leaves what was there. A folder that was not there does not come to be; one that was keeps the
   * files that were finished.
   */
  readonly signal: AbortSignal;
}

interface Walk extends CopyParts {
  readonly block: Buffer;
  /** Nobody sees the destination yet. */
  readonly isFresh: boolean;
  readonly skipped: string[];
  /** The real path that something will have in the end, of the one where it is made. */
  readonly landing: (real: string) => string;
}

/** Gives the real paths that were left out, at most a hundred: what is neither file, folder nor link. */
export async function copy(wishes: CopyWishes, parts: CopyParts): Promise<readonly string[]> {
  const source = await parts.reach.place(wishes.source, 'entry');
  try {
    const stats = await statsOf(source.path);
    if (!stats) throw systemFault('ENOENT', wishes.source);
    const landing = (real: string) => real;
    const walk: Walk = { ...parts, block: Buffer.allocUnsafeSlow(BLOCK), isFresh: false, skipped: [], landing };
    if (stats.isDirectory()) await copyFolder(source, wishes, stats.mode, walk);
    else if (stats.isSymbolicLink()) await copyLinkTo(source, wishes, parts);
    else await copyFileTo(source, wishes, walk);
    return walk.skipped;
  } catch (error) {
    throw fsFault(error, wishes.source);
  } finally {
    await source.close();
  }
}

async function copyLinkTo(source: Place, { destination }: CopyWishes, parts: CopyParts): Promise<void> {
  const to = await parts.reach.place(destination, 'entry');
  try {
    parts.protection.checkWritable(join(to.folder.path, to.name), destination);
    await symlink(await readlink(source.path, 'buffer'), to.path);
  } catch (error) {
    throw fsFault(error, destination);
  } finally {
    await to.close();
  }
}

async function copyFileTo(source: Place, wishes: CopyWishes, walk: Walk): Promise<void> {
  const to = await walk.reach.place(wishes.destination, 'target');
  try {
    if (to.real === source.real) throw ontoItself('a file to itself');
    walk.protection.checkWritable(join(to.folder.path, to.name), wishes.destination);
    const before = await statsOf(to.path);
    if (before) checkRegular(before, wishes.destination);
    await copyFile(source.path, wishes.source, to, walk, true);
  } catch (error) {
    throw fsFault(error, wishes.destination);
  } finally {
    await to.close();
  }
}

async function copyFolder(source: Place, wishes: CopyWishes, mode: number, walk: Walk): Promise<void> {
  if (!wishes.isRecursive) {
    throw new AppError('invalid', 'fs/copy requires recursive: true when sourcePath is a directory');
  }
  const { destination } = wishes;
  const brokenOff = (error: unknown) => Promise.reject(partialFault(error, wishes.source));
  const to = await walk.reach.place(destination, 'target');
  try {
    if (isInside(to.real, source.real)) throw ontoItself('a directory to itself or one of its descendants');
    const real = join(to.folder.path, to.name);
    walk.protection.checkWritable(real, destination);
    await checkTree(source.folder, source.name, walk.reach, walk.signal, real);
    const before = await statsOf(to.path);
    if (before && !before.isDirectory()) throw systemFault('ENOTDIR', destination);
    if (before) await merge(source.folder, source.name, to.folder, to.name, walk).catch(brokenOff);
    else await makeAside(source, mode, to, { ...walk, isFresh: true });
  } finally {
    await to.close();
  }
}

/** The whole tree comes to be under another name, and gets its own when it is complete. */
async function makeAside(source: Place, mode: number, to: Place, walk: Walk): Promise<void> {
  const name = temporaryName();
  const forget = walk.commits.leftovers.note(join(to.folder.path, name));
  try {
    await mkdir(to.folder.at(name), 0o700);
    const landing = (real: string) => join(to.folder.path, to.name, relative(join(to.folder.path, name), real));
    await merge(source.folder, source.name, to.folder, name, { ...walk, landing });
    await chmod(to.folder.at(name), mode & 0o7777);
    await rename(to.folder.at(name), to.path);
  } catch (error) {
    await rm(to.folder.at(name), { recursive: true, force: true });
    throw error;
  } finally {
    forget();
  }
}

async function merge(from: Folder, fromName: EntryName, to: Folder, toName: EntryName, walk: Walk): Promise<void> {
  const source = await enter(from, fromName);
  try {
    const destination = await enter(to, toName);
    try {
      for (const entry of await readdir(source.at('.'), { withFileTypes: true, encoding: 'buffer' })) {
        throwIfAborted(walk.signal);
        await copyEntry(source, entry, destination, walk);
      }
    } finally {
      await destination.close();
    }
  } finally {
    await source.close();
  }
}

async function copyEntry(source: Folder, entry: Dirent<Buffer>, destination: Folder, walk: Walk): Promise<void> {
  const { name } = entry;
  const shown = join(source.path, name.toString());
  const real = join(destination.path, name.toString());
  // It may have come since the whole was looked through.
  for (const each of [shown, walk.landing(real)]) checkHeld(each, walk.reach);
  walk.protection.checkWritable(real, real);
  try {
    if (entry.isDirectory()) await copyInnerFolder(source, name, destination, walk);
    else if (entry.isSymbolicLink())
      await replaceLink(await readlink(source.at(name), 'buffer'), destination, name, walk);
    else if (entry.isFile()) {
      const target = { folder: destination, name, real };
      await copyFile(source.at(name), shown, target, walk, false);
    } else if (walk.skipped.length < MAX_SKIPPED_SHOWN) walk.skipped.push(shown);
  } catch (error) {
    throw fsFault(error, shown);
  }
}

async function copyInnerFolder(source: Folder, name: Buffer, destination: Folder, walk: Walk): Promise<void> {
  const mode = (await statsOf(source.at(name)))?.mode;
  if (mode === undefined) return;
  const isNew = await mkdir(destination.at(name), 0o700).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    },
  );
  await merge(source, name, destination, name, walk);
  if (isNew) await chmod(destination.at(name), mode & 0o7777);
}

async function replaceLink(target: Buffer, folder: Folder, name: Buffer, { commits }: Walk): Promise<void> {
  const own = temporaryName();
  const temporary = folder.at(own);
  const forget = commits.leftovers.note(join(folder.path, own));
  await symlink(target, temporary);
  try {
    await rename(temporary, folder.at(name));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    forget();
  }
}

async function copyFile(from: EntryName, shown: string, target: Target, walk: Walk, isDurable: boolean): Promise<void> {
  const file = await open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  try {
    const stats = await file.stat();
    checkRegular(stats, shown);
    const mode = stats.mode & 0o7777;
    if (walk.isFresh) await fill(file, await create(target, mode), walk);
    else await replace(file, target, mode, walk, isDurable);
  } finally {
    await file.close();
  }
}

async function create({ folder, name }: Target, mode: number): Promise<FileHandle> {
  const handle = await open(folder.at(name), constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  await handle.chmod(mode);
  return handle;
}

async function fill(source: FileHandle, destination: FileHandle, { block, signal }: Walk): Promise<void> {
  try {
    for await (const data of blocksOf(source, block, signal)) await destination.writeFile(data);
  } finally {
    await destination.close();
  }
}

async function replace(
  source: FileHandle,
  target: Target,
  mode: number,
  { commits, block, signal }: Walk,
  isDurable: boolean,
): Promise<void> {
  const replacement = await Replacement.begin(target, commits);
  try {
    await replacement.setMode(mode);
    for await (const data of blocksOf(source, block, signal)) await replacement.write(data);
    await replacement.commit({ isDurable });
  } finally {
    await replacement.close();
  }
}

async function* blocksOf(file: FileHandle, block: Buffer, signal: AbortSignal): AsyncGenerator<Buffer> {
  for (;;) {
    throwIfAborted(signal);
    const { bytesRead } = await file.read(block, 0, block.length, null);
    if (bytesRead === 0) return;
    yield block.subarray(0, bytesRead);
  }
}

function ontoItself(what: string): AppError {
  return new AppError('invalid', `fs/copy cannot copy ${what}`);
}
