// A folder with all below it under watch: folders that come are added, those that go are let go.

import { lstat, readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isAppError } from '../base/errors.ts';
import type { Changes } from './changes.ts';
import type { FolderWatch, FolderWatches } from './folder-watches.ts';
import { Ignored, isIgnoreFile } from './ignored.ts';
import { Looks } from './looks.ts';
import { isTemporaryName } from './replacement.ts';

/** Of one watch. */
export const MAX_TREE_FOLDERS = 8_192;
/** How many folders are looked into at once. */
const AT_ONCE = 16;
/** How many entries are gone through before others have their turn. */
const SLICE = 256;

export interface TreeParts {
  readonly watches: Pick<FolderWatches, 'open'>;
  readonly changes: Pick<Changes, 'add' | 'rescan'>;
  readonly isRecursive: boolean;
  /** Whether a real path may be told about. */
  readonly accepts: (real: string) => boolean;
  /** The top itself has gone. */
  readonly gone: () => void;
  /** More changes come than can be followed: this tree follows none any more, and is to be closed. */
  readonly flooded: () => void;
  readonly maxFolders?: number;
}

interface Watched {
  readonly watch: FolderWatch;
  readonly inode: number;
}

export class WatchedTree {
  readonly #top: string;
  readonly #parts: TreeParts;
  readonly #folders = new Map<string, Watched>();
  readonly #entering = new Set<string>();
  readonly #looks: Looks;
  #ignored: Promise<Ignored>;
  #opening = 0;
  #isClosed = false;
  #isComplete = true;

  constructor(top: string, parts: TreeParts) {
    this.#top = top;
    this.#parts = parts;
    this.#ignored = Ignored.below(top);
    this.#looks = new Looks({
      look: (path) => (path === top ? this.#rulesChanged() : this.#lookAt(path)),
      tooMany: () => parts.flooded(),
    });
  }

  /** False when there were more folders than may be watched. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Settles when everything that is there now is under watch. Rejects when the top cannot be watched. */
  async start(): Promise<void> {
    await this.#enter(this.#top, false);
  }

  close(): void {
    this.#isClosed = true;
    this.#looks.close();
    for (const { watch } of this.#folders.values()) watch.close();
    this.#folders.clear();
  }

  /** Begins at a folder and goes down; what is found in a folder that is new is told as changed. */
  async #enter(top: string, isNew: boolean): Promise<void> {
    let level = [top];
    while (level.length > 0 && !this.#isClosed) {
      const next: string[] = [];
      for (let from = 0; from < level.length; from += AT_ONCE) {
        const some = level.slice(from, from + AT_ONCE);
        const found = await Promise.all(some.map((folder) => this.#watch(folder, isNew)));
        next.push(...found.flat());
      }
      level = next;
    }
  }

  /** Gives the folders in it that are to be watched as well. */
  async #watch(folder: string, isNew: boolean): Promise<string[]> {
    if (this.#folders.has(folder) || this.#entering.has(folder)) return [];
    this.#entering.add(folder);
    try {
      if (!(await this.#open(folder)) || (!this.#parts.isRecursive && !isNew)) return [];
      return await this.#foldersIn(folder, isNew);
    } catch (error) {
      if (folder === this.#top) throw error;
      return []; // gone again, or not for us
    } finally {
      this.#entering.delete(folder);
    }
  }

  async #open(folder: string): Promise<boolean> {
    if (this.#folders.size + this.#opening >= (this.#parts.maxFolders ?? MAX_TREE_FOLDERS)) {
      this.#incomplete();
      return false;
    }
    this.#opening += 1;
    try {
      const { watches, accepts, changes } = this.#parts;
      const listener = {
        changed: (name: string, isEntry: boolean) => this.#changed(folder, name, isEntry),
        gone: () => this.#gone(folder),
        overflowed: () => changes.rescan(),
        flooded: () => this.#parts.flooded(),
      };
      const watch = await watches.open(folder, listener, accepts);
      const { ino } = await lstat(folder);
      if (this.#isClosed) watch.close();
      else this.#folders.set(folder, { watch, inode: ino });
      return !this.#isClosed;
    } catch (error) {
      if (!isAppError(error, 'unavailable')) throw error;
      if (folder === this.#top) throw error;
      this.#incomplete();
      return false;
    } finally {
      this.#opening -= 1;
    }
  }

  async #foldersIn(folder: string, isNew: boolean): Promise<string[]> {
    const found: string[] = [];
    const ignored = await this.#ignored;
    for (const [index, entry] of (await readdir(folder, { withFileTypes: true })).entries()) {
      if (index % SLICE === SLICE - 1) await nextTurn();
      if (this.#isClosed) return [];
      const path = join(folder, entry.name);
      if (isNew) this.#tell(path, entry.name);
      if (this.#parts.isRecursive && entry.isDirectory() && this.#parts.accepts(path) && !(await ignored.has(path)))
        found.push(path);
    }
    return found;
  }

  #changed(folder: string, name: string, isEntry: boolean): void {
    if (this.#isClosed) return;
    const path = join(folder, name);
    this.#tell(path, name);
    if (!this.#parts.isRecursive) return;
    // Nothing tells of the top as an entry: its name stands for the rules.
    if (isIgnoreFile(name)) this.#looks.add(this.#top);
    if (isEntry) this.#looks.add(path);
  }

  #tell(path: string, name: string): void {
    if (!isTemporaryName(name) && this.#parts.accepts(path)) this.#parts.changes.add(path);
  }

  /** Something came, went, or is another one now. */
  async #lookAt(path: string): Promise<void> {
    const stats = await lstat(path).catch(() => undefined);
    const known = this.#folders.get(path);
    if (known && known.inode !== stats?.ino) this.#forget(path);
    if (!stats?.isDirectory() || !this.#parts.accepts(path) || (await (await this.#ignored).has(path))) return;
    await this.#enter(path, true);
  }

  #gone(folder: string): void {
    if (folder !== this.#top) this.#forget(folder);
    else this.#parts.gone();
  }

  #forget(top: string): void {
    for (const [path, { watch }] of this.#folders) {
      if (path !== top && !path.startsWith(top + sep)) continue;
      watch.close();
      this.#folders.delete(path);
    }
  }

  /** Other folders may be ignored now; the top stays under watch meanwhile. */
  async #rulesChanged(): Promise<void> {
    this.#ignored = Ignored.below(this.#top);
    const ignored = await this.#ignored;
    for (const [index, path] of [...this.#folders.keys()].entries()) {
      if (index % SLICE === SLICE - 1) await nextTurn();
      if (path !== this.#top && (await ignored.has(path))) this.#forget(path);
    }
    for (const path of [...this.#folders.keys()]) {
      if (this.#isClosed) return;
      const inner = await this.#foldersIn(path, false).catch(() => []);
      for (const each of inner) await this.#enter(each, false);
    }
    this.#parts.changes.rescan();
  }

  #incomplete(): void {
    if (!this.#isComplete) return;
    this.#isComplete = false;
    this.#parts.changes.rescan();
  }
}
