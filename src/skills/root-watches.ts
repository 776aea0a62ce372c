// Watches the roots of skills that were asked about last.

import type { Clock } from '../base/clock.ts';
import { type Closable, closeOnce } from '../base/close.ts';
import type { Log } from '../base/log.ts';
import { realPathOf } from '../fs/containment.ts';
import { FolderWatches } from '../fs/folder-watches.ts';
import { PathWatch } from '../fs/path-watch.ts';

const MAX_ROOTS = 64;
/** Below one root. */
const MAX_FOLDERS = 512;

export interface RootWatchParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Something below the root, which is a real path, has changed. */
  readonly changed: (root: string) => void;
}

export class RootWatches implements Closable {
  readonly #parts: RootWatchParts;
  readonly #folders = new FolderWatches();
  readonly #roots = new Map<string, Promise<PathWatch | undefined>>();
  #isClosed = false;

  constructor(parts: RootWatchParts) {
    this.#parts = parts;
  }

  /** Roots need not exist. Settles when they are watched, or cannot be; those that were asked for longest ago are let go. */
  async watch(roots: readonly string[]): Promise<void> {
    if (this.#isClosed) return;
    for (const root of roots) {
      const known = this.#roots.get(root) ?? this.#start(root);
      this.#roots.delete(root);
      this.#roots.set(root, known);
    }
    for (const [root] of [...this.#roots].slice(0, Math.max(0, this.#roots.size - MAX_ROOTS))) await this.#end(root);
    await Promise.all(this.#roots.values());
  }

  readonly close = closeOnce(async () => {
    this.#isClosed = true;
    await Promise.all([...this.#roots.keys()].map((root) => this.#end(root)));
  });

  async #start(root: string): Promise<PathWatch | undefined> {
    try {
      const real = await realPathOf(root);
      return await PathWatch.start(real, {
        watches: this.#folders,
        clock: this.#parts.clock,
        isRecursive: true,
        maxFolders: MAX_FOLDERS,
        accepts: () => true,
        acceptsAbove: () => true,
        hasRoom: async () => {},
        tell: () => this.#parts.changed(real),
      });
    } catch (error) {
      this.#parts.log.warn({ err: error, root }, 'a folder of skills cannot be watched');
      return undefined;
    }
  }

  async #end(root: string): Promise<void> {
    const watch = this.#roots.get(root);
    this.#roots.delete(root);
    await (await watch)?.close();
  }
}
