// Several files changed as one: all of them, or none.

import { constants } from 'node:fs';
import { copyFile, link, mkdir, rename, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { sha256 } from '../base/canonical.ts';
import { AppError, codeOf, messageOf } from '../base/errors.ts';
import { throwIfAborted } from '../base/signals.ts';
import { about } from './fault.ts';
import { enter, type Folder, openFolder } from './folder.ts';
import { versionAt } from './read-file.ts';
import { type Commits, NO_FILE, Replacement, temporaryName } from './replacement.ts';

/** What becomes of one file. */
export interface FileEffect {
  /** Real path. Refused as *forbidden* when a folder on the way leads elsewhere by now. */
  readonly path: string;
  /** The version that must be there, or `NO_FILE`. */
  readonly expected: string;
  /** The content that it gets, with missing folders above it; null: it is removed. */
  readonly content: Uint8Array | null;
  /** Permission bits that it gets; default: those of the file that is there, or of new files. */
  readonly mode?: number;
}

/**
 * Makes all changes, each of them durable, or takes back those that were made and rejects: as *conflict* when a file is not the
 * expected version, as *cancelled* when the signal aborts before the first one is in place; from then on an abort changes nothing.
 * When something could not be taken back the error's data has `isPartial`, and its text names where the old file is kept. Each file may be named once.
 */
export async function changeFiles(
  effects: readonly FileEffect[],
  commits: Commits,
  signal: AbortSignal,
): Promise<void> {
  const places: Place[] = [];
  const made: MadeFolder[] = [];
  try {
    for (const effect of effects) places.push(await about(effect.path, () => prepare(effect, commits, made)));
    throwIfAborted(signal);
    // Removals last: a server that is killed in between leaves a file twice rather than nowhere.
    const inOrder = [...places.filter((place) => !place.isRemoval), ...places.filter((place) => place.isRemoval)];
    for (const place of inOrder) await about(place.path, () => place.commit());
  } catch (error) {
    throw await takenBack(error, places, made);
  } finally {
    for (const place of places) await place.close();
    for (const folder of made) await folder.close();
  }
}

async function takenBack(error: unknown, places: readonly Place[], made: readonly MadeFolder[]): Promise<unknown> {
  const failures: string[] = [];
  for (const place of places.toReversed())
    await place.undo().catch((failure) => {
      const kept = place.keep();
      failures.push(`${place.path}: ${messageOf(failure)}${kept ? `; what it was is kept as ${kept}` : ''}`);
    });
  for (const place of places) await place.close();
  for (const folder of made.toReversed()) await folder.remove();
  if (failures.length === 0) return error;
  const text = `${messageOf(error)}; and not everything could be taken back: ${failures.join('; ')}`;
  return new AppError('unavailable', text, { isPartial: true }, { cause: error });
}

interface OldFile {
  readonly name: string;
  readonly forget: () => void;
}

class Place {
  readonly path: string;
  readonly #effect: FileEffect;
  readonly #folder: Folder;
  readonly #replacement: Replacement | undefined;
  readonly #commits: Commits;
  readonly #name: string;
  /** The old file while it may still be needed, under a name that the next start removes. */
  #old: OldFile | undefined;
  #progress: 'prepared' | 'begun' | 'done' = 'prepared';

  constructor(effect: FileEffect, folder: Folder, replacement: Replacement | undefined, commits: Commits) {
    this.path = effect.path;
    this.#name = folder.at(basename(effect.path));
    this.#effect = effect;
    this.#folder = folder;
    this.#replacement = replacement;
    this.#commits = commits;
  }

  get isRemoval(): boolean {
    return this.#replacement === undefined;
  }

  /** Puts the change in place. */
  async commit(): Promise<void> {
    this.#progress = 'begun';
    const { expected } = this.#effect;
    if (!this.#replacement) {
      await this.#commits.queues.enter({ key: this.path }, () => this.#setAside(expected));
      await this.#folder.sync();
    } else {
      if (expected !== NO_FILE) await this.#keepOld(linkOrCopy);
      await this.#replacement.commit({ expectedVersion: expected });
    }
    this.#progress = 'done';
  }

  /** As it was before; rejects when somebody else has changed it since. */
  async undo(): Promise<void> {
    const { content } = this.#effect;
    if (this.#progress === 'prepared') return;
    const now = await nowAt(this.#name);
    if (now === (content === null ? undefined : sha256(content))) {
      if (this.#old) await this.#putBack(this.#old);
      else if (content !== null) await rm(this.#name);
      await this.#folder.sync();
    } else if (this.#progress === 'done' || (content === null && this.#old))
      throw new Error('it has been changed by somebody else');
    this.#progress = 'prepared';
  }

  /** Leaves the old file where it is for good, and gives its path; undefined: there is none. */
  keep(): string | undefined {
    const old = this.#old;
    this.#old = undefined;
    old?.forget();
    return old && join(this.#folder.path, old.name);
  }

  async close(): Promise<void> {
    const old = this.#old;
    this.#old = undefined;
    // What cannot be removed now is removed by the next start.
    if (old) await rm(this.#folder.at(old.name), { force: true }).then(old.forget, () => {});
    await this.#replacement?.close();
    await this.#folder.close();
  }

  async #setAside(expected: string): Promise<void> {
    if ((await versionAt(this.#name)) !== expected) {
      const text = `${this.path} has been changed since`;
      throw new AppError('conflict', text, { kind: 'version_mismatch', path: this.path });
    }
    await this.#keepOld(rename);
  }

  async #keepOld(keep: (from: string, to: string) => Promise<void>): Promise<void> {
    const name = temporaryName();
    const forget = this.#commits.leftovers.note(join(this.#folder.path, name));
    try {
      await keep(this.#name, this.#folder.at(name));
      this.#old = { name, forget };
    } catch (error) {
      forget();
      throw error;
    }
  }

  async #putBack(old: OldFile): Promise<void> {
    await rename(this.#folder.at(old.name), this.#name);
    this.#old = undefined;
    old.forget();
  }
}

/** What is no file is nothing that we have put there. */
const nowAt = (path: string): Promise<string | undefined> =>
  versionAt(path).catch((error) => {
    if (codeOf(error) === 'EISDIR' || codeOf(error) === 'ELOOP') return 'no file';
    throw error;
  });

/** Some file systems know no second name for a file. */
const linkOrCopy = (from: string, to: string): Promise<void> =>
  link(from, to).catch(() => copyFile(from, to, constants.COPYFILE_EXCL));

async function prepare(effect: FileEffect, commits: Commits, made: MadeFolder[]): Promise<Place> {
  const { path, content, mode } = effect;
  const folder = await folderAt(dirname(path), made, content !== null, commits);
  let replacement: Replacement | undefined;
  try {
    if (content !== null) {
      replacement = await Replacement.begin({ folder, name: basename(path), real: path }, commits);
      if (mode !== undefined) await replacement.setMode(mode);
      await replacement.write(content);
    }
    return new Place(effect, folder, replacement, commits);
  } catch (error) {
    await replacement?.close();
    await folder.close();
    throw error;
  }
}

/** A folder that was missing. */
interface MadeFolder {
  close(): Promise<void>;
  /** Unless somebody has put something into it meanwhile. */
  remove(): Promise<void>;
}

/** Opens a folder by its real path, made with those above it where they are missing. */
async function folderAt(path: string, made: MadeFolder[], mayMake: boolean, commits: Commits): Promise<Folder> {
  try {
    return await openSame(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || !mayMake || dirname(path) === path) throw error;
  }
  const parent = await folderAt(dirname(path), made, mayMake, commits);
  const name = basename(path);
  const forget = commits.leftovers.note(path);
  try {
    await mkdir(parent.at(name));
  } catch (error) {
    forget();
    await parent.close();
    // Somebody has made it in this moment: so much the better.
    if (codeOf(error) === 'EEXIST') return openSame(path);
    throw error;
  }
  const close = async () => {
    forget();
    await parent.close();
  };
  made.push({ close, remove: () => rmdir(parent.at(name)).catch(() => {}) });
  await parent.sync();
  return same(await enter(parent, name), path);
}

const openSame = async (path: string): Promise<Folder> => same(await openFolder(path), path);

/** What was opened decides: the way to it may have been exchanged since it was looked at. */
async function same(folder: Folder, path: string): Promise<Folder> {
  if (folder.path === path) return folder;
  await folder.close();
  throw new AppError('forbidden', `${path} leads elsewhere than it did a moment ago`, { kind: 'moved', path });
}
