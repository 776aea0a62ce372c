// Content-addressed files for the long strings of records, written before the event that names them.

import { mkdirSync, readdirSync, readFileSync, rmSync, unlinkSync } from 'node:fs';
import { type FileHandle, mkdir, open, readFile, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sha256 } from '../base/canonical.ts';
import { AppError, codeOf, diskAdvice, messageOf } from '../base/errors.ts';
import { newId } from '../model/ids.ts';
import { refused } from './shut.ts';

export interface Blobs {
  /**
   * Stores what is not there yet; durable when it resolves. Until `settle` has been called with the same contents none of
   * them is deleted. Rejects as *unavailable* when the disk refuses; nothing needs settling then.
   */
  write(contents: ReadonlyMap<string, string>): Promise<void>;
  /** The records that name these contents are on disk, or never will be. */
  settle(contents: ReadonlyMap<string, string>): void;
  /** Undefined: missing or damaged. */
  read(hash: string): Promise<string | undefined>;
  readSync(hash: string): string | undefined;
  /** Whether the rows that say who uses what can be relied on; false: nothing is to be dropped. */
  mayDrop(): Promise<boolean>;
  /** Deletes the content unless `isUsed` or a write under way needs it. */
  drop(hash: string, isUsed: () => boolean): void;
}

const pathIn = (directory: string, hash: string): string => join(directory, hash.slice(0, 2), hash);

/** The stored content; undefined: missing or damaged. */
export async function readBlob(directory: string, hash: string): Promise<string | undefined> {
  return checked(hash, await readFile(pathIn(directory, hash), 'utf8').catch(() => undefined));
}

/** Blobs in a directory of their own, which is made; leftovers of writes that were cut off are removed. */
export function openBlobs(directory: string): Blobs {
  const pathOf = (hash: string) => pathIn(directory, hash);
  const unfinished = join(directory, 'unfinished');
  mkdirSync(unfinished, { recursive: true, mode: 0o700 });
  // One by one: to remove a folder with all in it, Node loads code that a start seldom needs.
  for (const name of readdirSync(unfinished)) rmSync(join(unfinished, name), { recursive: true, force: true });
  const wanted = new Map<string, number>();

  const settle = (contents: ReadonlyMap<string, string>) => {
    for (const hash of contents.keys()) {
      const count = (wanted.get(hash) ?? 1) - 1;
      if (count === 0) wanted.delete(hash);
      else wanted.set(hash, count);
    }
  };
  return {
    async write(contents) {
      for (const hash of contents.keys()) wanted.set(hash, (wanted.get(hash) ?? 0) + 1);
      try {
        for (const [hash, content] of contents) await writeOnce(pathOf(hash), join(unfinished, newId()), content);
      } catch (error) {
        settle(contents);
        const advice = diskAdvice(error);
        const why = advice === undefined ? messageOf(error) : `${advice}, it goes on by itself`;
        throw new AppError('unavailable', `a long value could not be stored: ${why}`, {}, { cause: error });
      }
    },
    settle,
    read: (hash) => readBlob(directory, hash),
    readSync: (hash) => checked(hash, readTextSync(pathOf(hash))),
    mayDrop: async () => true,
    drop(hash, isUsed) {
      if (wanted.has(hash) || isUsed()) return;
      try {
        unlinkSync(pathOf(hash));
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') throw error;
      }
    },
  };
}

/** Blobs in a directory that is only read. `shut`: why. */
export function shutBlobs(directory: string, shut: string): Blobs {
  return {
    write: async () => {
      throw refused(shut);
    },
    settle: () => {},
    read: (hash) => readBlob(directory, hash),
    readSync: (hash) => checked(hash, readTextSync(pathIn(directory, hash))),
    mayDrop: async () => false,
    drop: () => {},
  };
}

/** Blobs of a history that is gone when it is closed. */
export function memoryBlobs(): Blobs {
  const contents = new Map<string, string>();
  return {
    async write(added) {
      for (const [hash, content] of added) contents.set(hash, content);
    },
    settle: () => {},
    read: async (hash) => contents.get(hash),
    readSync: (hash) => contents.get(hash),
    mayDrop: async () => true,
    drop(hash, isUsed) {
      if (!isUsed()) contents.delete(hash);
    },
  };
}

const checked = (hash: string, content: string | undefined) =>
  content !== undefined && sha256(content) === hash ? content : undefined;

function readTextSync(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

async function writeOnce(path: string, temporary: string, content: string): Promise<void> {
  // The same length under this name is the same content, unless it was damaged; then it is written again.
  const found = await stat(path).catch(() => undefined);
  if (found?.size === Buffer.byteLength(content) && (await readFile(path)).equals(Buffer.from(content))) return;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(temporary, 'wx', 0o600);
  try {
    await writeText(file, content);
    await file.sync();
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  await syncDirectory(dirname(path));
  await syncDirectory(dirname(dirname(path)));
}

/** Characters encoded at once. */
const PIECE = 32 * 1024;

/** Without the bytes of the whole in memory beside the text. */
async function writeText(file: FileHandle, text: string): Promise<void> {
  const bytes = Buffer.allocUnsafeSlow(Math.min(PIECE, text.length) * 3);
  for (let from = 0; from < text.length; ) {
    const isPair = (text.charCodeAt(from + PIECE - 1) & 0xfc00) === 0xd800;
    const to = from + PIECE - (isPair ? 1 : 0);
    await file.writeFile(bytes.subarray(0, bytes.write(text.slice(from, to))));
    from = to;
  }
}

/** Makes what was written to a file durable; only Windows wants it open for writing. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, process.platform === 'win32' ? 'r+' : 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a rename durable; Windows has no such call and needs none. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
