// A watch of one path, whatever becomes of it: a file, a folder, or nothing yet; removed, and made anew.

import { stat } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { type Closable, closeOnce } from '../base/close.ts';
import { codeOf, isAppError } from '../base/errors.ts';
import { SingleRun } from '../base/single-run.ts';
import { Changes, type ChangesParts } from './changes.ts';
import type { FolderWatch, FolderWatches } from './folder-watches.ts';
import { WatchedTree } from './watched-tree.ts';

/** How long a watch pauses when more changes than can be followed; twice as long each time until it is calm. */
export const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 8_000;

export interface PathWatchParts extends ChangesParts {
  readonly watches: FolderWatches;
  readonly isRecursive: boolean;
  /** Whether a real path may be told about. */
  readonly accepts: (real: string) => boolean;
  /** Whether a folder may be watched for what leads to the path. */
  readonly acceptsAbove: (real: string) => boolean;
  readonly maxFolders?: number;
}

interface Identity {
  readonly device: number;
  readonly inode: number;
  readonly isFolder: boolean;
}

export class PathWatch implements Closable {
  readonly #path: string;
  readonly #parts: PathWatchParts;
  readonly #changes: Changes;
  #above: FolderWatch | undefined;
  #tree: WatchedTree | undefined;
  #identity: Identity | undefined;
  readonly #attaching: SingleRun;
  #isStale = false;
  #isClosed = false;
  #isPaused = false;
  #pauseMs = FIRST_PAUSE_MS;
  #resumedAt = Number.NEGATIVE_INFINITY;
  #stopPause = () => {};

  private constructor(path: string, parts: PathWatchParts) {
    this.#path = path;
    this.#parts = parts;
    this.#changes = new Changes(parts);
    this.#attaching = new SingleRun(
      () => this.#attachWhileStale(),
      () => this.#changes.rescan(),
    );
  }

  /** `path` is real. Rejects with the error of the system, or as *unavailable* when too much is watched. */
  static async start(path: string, parts: PathWatchParts): Promise<PathWatch> {
    const watch = new PathWatch(path, parts);
    try {
      await watch.#attach(true);
      return watch;
    } catch (error) {
      await watch.close();
      throw error;
    }
  }

  get isComplete(): boolean {
    return this.#tree?.isComplete ?? true;
  }

  readonly close = closeOnce(async () => {
    this.#isClosed = true;
    this.#stopPause();
    this.#changes.close();
    this.#letGo();
  });

  /** More changes than can be followed: nothing is watched for a while, then all is looked at anew. */
  #pause(): void {
    if (this.#isPaused || this.#isClosed) return;
    const { clock } = this.#parts;
    const wasCalm = clock.elapsed() - this.#resumedAt > LONGEST_PAUSE_MS;
    this.#pauseMs = wasCalm ? FIRST_PAUSE_MS : Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
    this.#isPaused = true;
    this.#letGo();
    this.#changes.rescan();
    this.#stopPause = clock.timer(this.#pauseMs, () => {
      this.#isPaused = false;
      this.#resumedAt = clock.elapsed();
      this.#reattach();
    });
  }

  #letGo(): void {
    this.#above?.close();
    this.#tree?.close();
    this.#above = undefined;
    this.#tree = undefined;
    this.#identity = undefined;
  }

  /** Looks again at what the path is; a call during that makes it look once more. */
  #reattach(): void {
    this.#isStale = true;
    void this.#attaching.run();
  }

  async #attachWhileStale(): Promise<void> {
    while (this.#isStale && !this.#isClosed && !this.#isPaused) {
      this.#isStale = false;
      await this.#attach(false);
    }
  }

  async #attach(isFirst: boolean): Promise<void> {
    await this.#watchAbove();
    const identity = await identityOf(this.#path);
    if (this.#isPaused || this.#isClosed) return;
    const before = this.#identity;
    this.#identity = identity;
    if (identity && before && identity.inode === before.inode && identity.device === before.device) return;
    this.#tree?.close();
    this.#tree = undefined;
    if (!isFirst && (before || identity)) this.#changes.add(this.#path);
    if (identity?.isFolder) await this.#watchTree(isFirst);
  }

  async #watchTree(isFirst: boolean): Promise<void> {
    const { watches, isRecursive, accepts, maxFolders } = this.#parts;
    const tree = new WatchedTree(this.#path, {
      watches,
      changes: this.#changes,
      isRecursive,
      accepts,
      gone: () => this.#reattach(),
      flooded: () => this.#pause(),
      ...(maxFolders === undefined ? {} : { maxFolders }),
    });
    this.#tree = tree;
    try {
      await tree.start();
    } catch (error) {
      tree.close();
      if (this.#tree === tree) this.#tree = undefined;
      if (isFirst || isAppError(error, 'unavailable')) throw error;
      this.#isStale = true; // gone again
      this.#identity = undefined;
      return;
    }
    if (!isFirst) this.#changes.rescan(); // its content is another one
  }

  /** Watches the nearest folder above that exists; after that nothing on the way can come unnoticed. */
  async #watchAbove(): Promise<void> {
    for (let above = dirname(this.#path); ; ) {
      const opened = await this.#openAbove(above);
      const next = join(above, nextName(above, this.#path));
      // It may have come between the two looks.
      if (opened && (next === this.#path || !(await identityOf(next))?.isFolder)) return;
      if (opened) above = next;
      else if (dirname(above) === above) return;
      else above = dirname(above);
    }
  }

  async #openAbove(folder: string): Promise<boolean> {
    const previous = this.#above;
    this.#above = undefined;
    previous?.close();
    if (!this.#parts.acceptsAbove(folder)) return true; // nothing may be seen from here
    const next = nextName(folder, this.#path);
    const listener = {
      changed: (name: string, isEntry: boolean) => this.#changedAbove(folder, name, name === next, isEntry),
      gone: () => this.#reattach(),
      overflowed: () => {
        this.#changes.rescan();
        this.#reattach();
      },
      flooded: () => this.#pause(),
    };
    try {
      const above = await this.#parts.watches.open(folder, listener, () => true);
      if (this.#isClosed || this.#isPaused) above.close();
      else this.#above = above;
      return true;
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return false;
      if (code === 'EACCES') return true;
      throw error;
    }
  }

  #changedAbove(folder: string, name: string, isOnTheWay: boolean, isEntry: boolean): void {
    if (!isOnTheWay) return;
    const isPath = folder === dirname(this.#path) && name === basename(this.#path);
    if (isPath && !this.#identity?.isFolder) this.#changes.add(this.#path);
    if (isEntry) this.#reattach();
  }
}

function nextName(above: string, path: string): string {
  return relative(above, path).split(sep)[0] ?? '';
}

async function identityOf(path: string): Promise<Identity | undefined> {
  try {
    const stats = await stat(path);
    return { device: stats.dev, inode: stats.ino, isFolder: stats.isDirectory() };
  } catch {
    return undefined;
  }
}
