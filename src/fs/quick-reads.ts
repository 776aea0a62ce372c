// Looking at files and reading small ones on the spot, where the system has them at hand: the way to another thread costs more.

import { constants, lstatSync, openSync, readSync, type Stats } from 'node:fs';
import { readFile, realpath, stat, statfs } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { systemClock } from '../base/clock.ts';

/** File systems of this machine's own, as statfs of Linux numbers them: ext, xfs, btrfs, tmpfs, overlay, f2fs, zfs. */
const LOCAL: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0xf2f52010, 0x2fc12fc1,
]);

/** The largest piece that is read on the spot. */
const QUICK_BYTES = 64 * 1024;
/** So long all of it may take in one turn of the loop. */
const TURN_MS = 2;
/**
 * A folder in which several files took longer than this is left to other threads until it is looked at anew. One that was slow
 * counts for so many that were quick: on a busy machine we are interrupted now and then, which has nothing to do with the disk.
 */
const SLOW_MS = 5;
const MAX_SLOW = 2;
const QUICK_PER_SLOW = 20;
/** For so long it is believed what a folder is: something else may be mounted there. */
const KNOWN_MS = 10_000;
const MAX_FOLDERS = 1_000;

/** What is known of a folder by its path. */
interface Known {
  readonly since: number;
  /** Of the folder, when nothing on the way to it may let us wait: no link, and no file system but local ones. */
  device: number | undefined;
  /** Names in it on which something else is mounted. */
  mounts: ReadonlySet<string>;
  slow: number;
}

export class QuickReads {
  readonly #folders = new Map<string, Known>();
  #left = TURN_MS;

  /**
   * Opens a file that lies in a local folder. Undefined when it is to be opened in another thread: the folder is not known for
   * local, the file is a link or cannot be opened, or enough has been done in this turn. What is not known yet is found out.
   */
  open(path: string, flags: number): number | undefined {
    return this.#inKnown(path, () => openSync(path, flags | constants.O_NOFOLLOW));
  }

  /** What there is to know of an entry itself. Undefined as for `open`. */
  stats(path: string): Stats | undefined {
    return this.#inKnown(path, () => lstatSync(path, { throwIfNoEntry: false }));
  }

  /** What an open regular file holds; less than `length` bytes only where it ends. Undefined when another thread is to read it. */
  read(path: string, file: number, { dev }: Stats, from: number, length: number): Buffer | undefined {
    const known = this.#folders.get(dirname(path));
    if (length === 0 || length > QUICK_BYTES || known?.device !== dev) return undefined;
    return this.#timed(known, () => {
      const buffer = Buffer.allocUnsafe(length);
      const count = readSync(file, buffer, 0, length, from);
      return count === length ? buffer : buffer.subarray(0, count);
    });
  }

  #inKnown<T>(path: string, work: () => T): T | undefined {
    const name = basename(path);
    // Behind a slash a link would be followed.
    if (!path.endsWith(`/${name}`) || name === '.' || name === '..') return undefined;
    const known = this.#of(dirname(path));
    if (known?.device === undefined || known.mounts.has(name)) return undefined;
    try {
      return this.#timed(known, work);
    } catch {
      return undefined; // what is wrong is found out again, and told, in another thread
    }
  }

  #of(folder: string): Known | undefined {
    const known = this.#folders.get(folder);
    if (known && systemClock.elapsed() - known.since < KNOWN_MS) return known;
    if (process.platform === 'linux') void this.#learn(folder);
    return undefined;
  }

  async #learn(folder: string): Promise<void> {
    if (this.#folders.size >= MAX_FOLDERS) this.#folders.clear();
    const known: Known = { since: systemClock.elapsed(), device: undefined, mounts: new Set(), slow: 0 };
    this.#folders.set(folder, known);
    try {
      if ((await realpath(folder)) !== folder || !(await isLocal(folder))) return;
      known.mounts = await mountsIn(folder);
      known.device = (await stat(folder)).dev;
    } catch {} // whoever reads there is told what is wrong
  }

  #timed<T>(known: Known, work: () => T): T | undefined {
    if (this.#left <= 0) return undefined;
    if (this.#left === TURN_MS)
      setImmediate(() => {
        this.#left = TURN_MS;
      });
    const began = systemClock.elapsed();
    try {
      return work();
    } finally {
      const spent = systemClock.elapsed() - began;
      this.#left -= spent;
      known.slow = spent > SLOW_MS ? known.slow + 1 : Math.max(0, known.slow - 1 / QUICK_PER_SLOW);
      if (known.slow > MAX_SLOW) known.device = undefined;
    }
  }
}

/** It counts as tmpfs too, and what is opened there may wait for a device, whatever the flags say. */
const DEVICES = '/dev';

/** Whether a folder and all above it are on local file systems: the way there leads through all of them. */
async function isLocal(folder: string): Promise<boolean> {
  if (folder === DEVICES || !LOCAL.has((await statfs(folder)).type)) return false;
  const above = dirname(folder);
  return above === folder || isLocal(above);
}

/** A mount may let us wait whatever the folder is that it lies in. */
async function mountsIn(folder: string): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  for (const line of (await readFile('/proc/self/mountinfo', 'utf8')).split('\n')) {
    const point = line
      .split(' ')[4]
      ?.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
    if (point !== undefined && dirname(point) === folder) names.add(basename(point));
  }
  return names;
}
