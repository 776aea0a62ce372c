// A file in the making beside the one it will replace, so that whoever looks finds the old or the new one, also after a crash.

import { createHash, randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, link, lstat, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Closable } from '../base/close.ts';
import { AppError, codeOf } from '../base/errors.ts';
import type { Leftovers } from '../base/leftovers.ts';
import type { Queues } from '../rpc/queues.ts';
import type { EntryName, Folder } from './folder.ts';
import { checkRegular, versionAt } from './read-file.ts';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** What `expectedVersion` says when there must be no file yet. */
export const NO_FILE = 'none';

/** The entry of an open folder that is replaced. */
export interface Target {
  readonly folder: Folder;
  readonly name: EntryName;
  /** The real path: one at a time is put there. */
  readonly real: string;
}

/** What all who replace files share. */
export interface Commits {
  /** Which commits wait for which. */
  readonly queues: Queues;
  readonly leftovers: Leftovers;
}

export interface CommitWishes {
  /** Put in place only if this is the version of what is there. */
  readonly expectedVersion?: string | undefined;
  /** False: it is enough that it is there; it may be lost with the power. */
  readonly isDurable?: boolean;
}

const TEMPORARY = /^\.heddle-[\da-f]{16}\.tmp$/;

/** A name that watches do not tell about. */
export const temporaryName = (): string => `.heddle-${randomBytes(8).toString('hex')}.tmp`;

export const isTemporaryName = (name: string): boolean => TEMPORARY.test(name);

export class Replacement implements Closable {
  readonly #target: Target;
  readonly #handle: FileHandle;
  readonly #temporary: string;
  readonly #queues: Queues;
  readonly #forget: () => void;
  readonly #hash = createHash('sha256');
  #received = 0;
  #isOver = false;

  private constructor(target: Target, handle: FileHandle, temporary: string, queues: Queues, forget: () => void) {
    this.#target = target;
    this.#handle = handle;
    this.#temporary = temporary;
    this.#queues = queues;
    this.#forget = forget;
  }

  /**
   * Begins a file that gets mode and owner of the one it replaces, or else what new files get. Rejects with the error of the
   * system. The folder stays with the caller, open until this is closed.
   */
  static async begin(target: Target, commits: Commits): Promise<Replacement> {
    const { folder, name } = target;
    const before = await statsOf(folder.at(name));
    if (before) {
      checkRegular(before, target.real);
      // What may not be written may not be replaced either, though the system would allow it.
      await access(folder.at(name), constants.W_OK);
    }
    const own = temporaryName();
    const temporary = folder.at(own);
    const forget = commits.leftovers.note(join(folder.path, own));
    const handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, before ? 0o600 : 0o666).catch(
      (error) => {
        forget();
        throw error;
      },
    );
    const replacement = new Replacement(target, handle, temporary, commits.queues, forget);
    try {
      if (before) await inherit(handle, before);
      return replacement;
    } catch (error) {
      await replacement.close();
      throw error;
    }
  }

  /** Bytes written so far. */
  get received(): number {
    return this.#received;
  }

  /** Gives it these permission bits instead. */
  async setMode(mode: number): Promise<void> {
    await this.#handle.chmod(mode);
  }

  async write(data: Uint8Array): Promise<void> {
    this.#hash.update(data);
    for (let done = 0; done < data.length; ) {
      const { bytesWritten } = await this.#handle.write(data, done);
      done += bytesWritten;
    }
    this.#received += data.length;
  }

  /** Puts the file in place and gives its version. Rejects as *conflict* when another version is there than expected. */
  async commit({ expectedVersion, isDurable = true }: CommitWishes = {}): Promise<string> {
    if (isDurable) await this.#handle.sync();
    await this.#queues.enter({ key: this.#target.real }, () => this.#put(expectedVersion));
    this.#isOver = true;
    this.#forget();
    await this.#handle.close();
    if (isDurable) await this.#target.folder.sync();
    return this.#hash.digest('hex');
  }

  async #put(expected: string | undefined): Promise<void> {
    const { folder, name } = this.#target;
    const path = folder.at(name);
    if (expected === NO_FILE) {
      await link(this.#temporary, path).catch(async (error) => {
        throw codeOf(error) === 'EEXIST' ? this.#conflict(await versionAt(path), expected) : error;
      });
      await rm(this.#temporary, { force: true });
      return;
    }
    if (expected !== undefined) {
      const actual = await versionAt(path);
      if (actual !== expected) throw this.#conflict(actual, expected);
    }
    await rename(this.#temporary, path);
  }

  #conflict(actual = NO_FILE, expectedVersion: string): AppError {
    const path = this.#target.real;
    const text = `${path} has been changed since: its version is ${actual}, not ${expectedVersion}`;
    return new AppError('conflict', text, { kind: 'version_mismatch', path, version: actual, expectedVersion });
  }

  /** Forgets what was not put in place. */
  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#handle.close();
    await rm(this.#temporary, { force: true });
    this.#forget();
  }
}

/** Of the entry itself; undefined when there is none. */
export async function statsOf(path: EntryName): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function inherit(handle: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const own = await handle.stat();
  // Only root may give files away; the rest of us become the owner of what we write. Before the mode, whose bits it clears.
  if (own.uid !== uid || own.gid !== gid) await handle.chown(uid, gid).catch(() => {});
  await handle.chmod(mode & 0o7777);
}
