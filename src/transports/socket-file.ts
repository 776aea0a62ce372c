// The file of a Unix socket: a safe folder, no live server on it, a stale one out of the way.

import { randomBytes } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { link, lstat, rename, stat, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { AppError, codeOf } from '../base/errors.ts';
import { makeFolders } from '../base/folders.ts';

/** The longest path that all systems we run on can bind, in bytes. */
export const MAX_SOCKET_PATH_BYTES = 103;

const WRITABLE_BY_OTHERS = 0o002;
const STICKY = 0o1000;

/**
 * Leaves `path` free to be bound, in a folder that is safe to bind in. A stale socket is removed. Rejects, touching nothing,
 * when the path is too long (*invalid*), the folder is not safe, something else lies there, or a server answers (*unavailable*).
 */
export async function freeSocketPath(path: string): Promise<void> {
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_SOCKET_PATH_BYTES)
    throw new AppError(
      'invalid',
      `the socket path ${path} has ${bytes} bytes; a Unix socket path may have ${MAX_SOCKET_PATH_BYTES}: ` +
        'name a shorter one by `--listen unix:///PATH`, or a data directory with a shorter path',
    );
  await safeFolder(dirname(path));
  const found = await identity(path);
  if (!found) return;
  if (!found.isSocket())
    throw new AppError('unavailable', `${path} exists and is not a socket; it is left as it is: choose another path`);
  if (await isLive(path)) throw inUse(path);
  await removeStale(path, found);
}

async function identity(path: string): Promise<BigIntStats | undefined> {
  try {
    return await lstat(path, { bigint: true });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Inode numbers are used again at once, so the time counts too. */
function isSame(one: BigIntStats, other: BigIntStats | undefined): boolean {
  return other !== undefined && one.ino === other.ino && one.mtimeNs === other.mtimeNs;
}

export function inUse(path: string): AppError {
  return new AppError(
    'unavailable',
    `app-server control socket is already in use at ${path}; stop the server there or choose another path`,
  );
}

async function safeFolder(folder: string): Promise<void> {
  makeFolders(folder);
  const facts = await stat(folder);
  const isOurs = facts.uid === 0 || facts.uid === process.getuid?.();
  const isOpen = (facts.mode & WRITABLE_BY_OTHERS) !== 0 && (facts.mode & STICKY) === 0;
  if (!isOurs || isOpen)
    throw new AppError(
      'unavailable',
      `the folder ${folder} ${isOurs ? 'can be written by others' : 'belongs to another user'}; ` +
        'a socket there could be replaced: choose a folder of your own',
    );
}

/** A file is no proof of life; an answer to a connect is. Any doubt counts as alive. */
function isLive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.once('error', (error) => resolve(!['ECONNREFUSED', 'ENOENT'].includes(codeOf(error) ?? '')));
  });
}

/** Moved aside before it goes: if another server has bound the path meanwhile, its socket is put back. */
async function removeStale(path: string, stale: BigIntStats): Promise<void> {
  if (!isSame(stale, await identity(path))) throw inUse(path);
  const aside = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw inUse(path);
    throw error;
  }
  const isStale = isSame(stale, await identity(aside));
  if (!isStale) await link(aside, path);
  await unlink(aside);
  if (!isStale) throw inUse(path);
}
