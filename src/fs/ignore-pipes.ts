// Named pipes in the place of ignore files and the like: whoever reads such a name would wait for ever for somebody to write.

import { constants, type Dirent } from 'node:fs';
import { lstat, open, readdir, readFile, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isInside } from './containment.ts';

/** What git and ripgrep read on their way, in any folder. */
const NAMES: ReadonlySet<string> = new Set(['.gitignore', '.gitattributes', '.gitmodules', '.ignore', '.rgignore']);
const REPOSITORY = '.git';

/** In milliseconds: before it is looked whether somebody is waiting, between two looks, and where it cannot be seen. */
const FIRST_MS = 100;
const PAUSE_MS = 25;
const PATIENCE_MS = 1_000;

const LOOK = constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;

/** Names that are looked at. */
const MAX_NAMES = 500_000;

/**
 * For as long as a program reads the folder: what keeps it waiting is made to look empty to it. Settles when `over` aborts, and never
 * rejects.
 */
export async function relieve(root: string, pid: number, over: AbortSignal): Promise<void> {
  try {
    await waiting(pid, over);
    const real = await realpath(root);
    const pipes = new Set(await pipesOf(real, over));
    while (pipes.size > 0) {
      for (const path of pipes) if (!(await letGo(path, real))) pipes.delete(path);
      await delay(PAUSE_MS, undefined, { signal: over, ref: false });
    }
  } catch {
    // It is over, or cannot be helped.
  }
}

async function waiting(pid: number, over: AbortSignal): Promise<void> {
  const began = performance.now();
  await delay(FIRST_MS, undefined, { signal: over, ref: false });
  while (!((await opensPipe(pid)) ?? performance.now() - began > PATIENCE_MS))
    await delay(PAUSE_MS, undefined, { signal: over, ref: false });
}

/** As the kernel tells; undefined: it does not. */
async function opensPipe(pid: number): Promise<boolean | undefined> {
  try {
    const threads = await readdir(`/proc/${pid}/task`);
    const doing = await Promise.all(threads.map((id) => readFile(`/proc/${pid}/task/${id}/wchan`, 'latin1')));
    return doing.every((each) => each === '' || each === '0') ? undefined : doing.includes('wait_for_partner');
  } catch {
    return undefined;
  }
}

/** To be there as one that could write, and to leave again, ends the wait of all who read. Gives whether it was the pipe. */
async function letGo(path: string, root: string): Promise<boolean> {
  const pipe = await pipeAt(path, root);
  const end = pipe && (await open(pipe.path, LOOK).catch(() => undefined));
  try {
    const found = await end?.stat();
    return found?.isFIFO() === true && found.dev === pipe?.dev && found.ino === pipe.ino;
  } finally {
    await end?.close();
  }
}

interface Pipe {
  /** No link. */
  readonly path: string;
  readonly dev: number;
  readonly ino: number;
}

/** Undefined: none, or one that a link leads out of the folder to, which may be another program's. `root`: a real path. */
async function pipeAt(path: string, root: string): Promise<Pipe | undefined> {
  try {
    const isLink = (await lstat(path)).isSymbolicLink();
    const place = isLink ? await realpath(path) : path;
    if (isLink && !isInside(place, root)) return undefined;
    const found = await lstat(place);
    return found.isFIFO() ? { path: place, dev: found.dev, ino: found.ino } : undefined;
  } catch {
    return undefined;
  }
}

async function pipesOf(root: string, over: AbortSignal): Promise<string[]> {
  const found: string[] = [];
  for (let folder = dirname(root); ; folder = dirname(folder)) {
    for (const name of NAMES) if (await pipeAt(join(folder, name), root)) found.push(join(folder, name));
    if (folder === dirname(folder)) break;
  }
  const open = [root];
  let seen = 0;
  for (let folder = open.pop(); folder !== undefined && seen < MAX_NAMES; folder = open.pop()) {
    over.throwIfAborted();
    for (const entry of await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => [])) {
      seen += 1;
      const path = join(folder, entry.name);
      const isInside = `${folder}/`.includes(`/${REPOSITORY}/`);
      if (entry.isDirectory()) {
        if (!(isInside && entry.name === 'objects')) open.push(path);
      } else if (entry.isFIFO() ? isInside || NAMES.has(entry.name) : entry.isSymbolicLink() && NAMES.has(entry.name)) {
        if (await pipeAt(path, root)) found.push(path);
      }
    }
  }
  return found;
}
