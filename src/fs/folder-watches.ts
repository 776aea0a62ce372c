// Watches of single folders: how many there may be, and when the system may have dropped events.

import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { AppError, codeOf } from '../base/errors.ts';
import { once } from '../base/lazy.ts';
import { openFolder } from './folder.ts';

/** In the whole process; the system has some two hundred thousand for all programs of a user, or less. */
const MAX_FOLDERS = 32_768;
/** So many events without a pause, and the folders that they came from are watched no longer: others wait meanwhile. */
const MAX_BURST = 4_096;
/** How many events the system keeps when it does not say. */
const USUAL_QUEUE = 16_384;

export interface FolderListener {
  /** An entry of the folder was made, removed or renamed (`isEntry`), or its content or attributes changed. */
  changed(name: string, isEntry: boolean): void;
  /** The folder itself was removed or moved, or can no longer be watched. */
  gone(): void;
  /** The system may have dropped events. */
  overflowed(): void;
  /** More came than can be read beside other work: the watch has been closed. Whoever begins another one waits first. */
  flooded(): void;
}

export interface FolderWatch {
  /** The real path when the watch began. */
  readonly path: string;
  close(): void;
}

export class FolderWatches {
  readonly #listeners = new Map<FSWatcher, FolderListener>();
  /** Whose events came since the loop last had its turn. */
  readonly #heard = new Set<FSWatcher>();
  #eventsInBurst = 0;

  /**
   * Watches the folder that is at this path now; its last part may not be a link. `accepts` sees the real path of what was opened.
   * Rejects with the error of the system, as *forbidden* when it is not accepted, as *unavailable* when there are too many.
   */
  async open(path: string, listener: FolderListener, accepts: (real: string) => boolean): Promise<FolderWatch> {
    if (this.#listeners.size >= MAX_FOLDERS) throw tooMany();
    const folder = await openFolder(path);
    try {
      if (!accepts(folder.path)) throw new AppError('forbidden', `${path} may not be watched`, { path });
      // By this name the folder itself is told from its entries.
      const watcher = watch(folder.at('.'), { persistent: false });
      this.#listen(watcher, listener);
      return {
        path: folder.path,
        close: () => this.#close(watcher),
      };
    } catch (error) {
      const code = codeOf(error);
      throw code === 'ENOSPC' || code === 'EMFILE' ? tooMany() : error;
    } finally {
      await folder.close();
    }
  }

  get size(): number {
    return this.#listeners.size;
  }

  #listen(watcher: FSWatcher, listener: FolderListener): void {
    this.#listeners.set(watcher, listener);
    watcher.on('change', (kind, name) => {
      if (!this.#listeners.has(watcher)) return;
      if (this.#isBurst(watcher)) this.#flooded();
      if (!this.#listeners.has(watcher)) return;
      if (typeof name !== 'string') listener.overflowed();
      else if (name !== '.') listener.changed(name, kind === 'rename');
      else if (kind === 'rename') listener.gone();
    });
    watcher.on('error', () => listener.gone());
  }

  /**
   * All that there is is read in one go, for as long as somebody is quick enough to add to it. A queue half full means as well
   * that some may have been dropped.
   */
  #isBurst(watcher: FSWatcher): boolean {
    this.#heard.add(watcher);
    this.#eventsInBurst += 1;
    if (this.#eventsInBurst === 1) setImmediate(() => this.#calm());
    return this.#eventsInBurst === Math.min(MAX_BURST, Math.floor(queueLength() / 2));
  }

  #flooded(): void {
    const [heard, all] = [new Set(this.#heard), [...this.#listeners]];
    this.#calm();
    for (const watcher of heard) this.#close(watcher);
    for (const [watcher, listener] of all)
      if (heard.has(watcher)) listener.flooded();
      else listener.overflowed();
  }

  #calm(): void {
    this.#eventsInBurst = 0;
    this.#heard.clear();
  }

  #close(watcher: FSWatcher): void {
    this.#listeners.delete(watcher);
    watcher.close();
  }
}

const queueLength = once(() => {
  try {
    return Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8')) || USUAL_QUEUE;
  } catch {
    return USUAL_QUEUE;
  }
});

function tooMany(): AppError {
  return new AppError('unavailable', 'too many folders are watched', { kind: 'too_many_watches' });
}
