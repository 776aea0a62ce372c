// What is read on the spot, and what is left to another thread because it could let everybody wait.

import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { QuickReads } from '../../../src/fs/quick-reads.ts';
import { eventually } from '../children/waiting.ts';

const READ = constants.O_RDONLY | constants.O_NONBLOCK;
const SMALL = 64 * 1024;

let base: string;
let quick: QuickReads;

const isLocal =
  process.platform === 'linux' &&
  [0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630].includes((await statfs(tmpdir())).type);
if (!isLocal) console.warn('SKIPPED: the temporary folder is on no file system that is read on the spot');

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-quick-')));
  quick = new QuickReads();
  writeFileSync(join(base, 'file'), 'content');
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

/** Settles when the folder of a file is known, which it becomes by being asked for. */
const known = (path = join(base, 'file')) => inTime(() => quick.stats(path));

/** What comes of it on the spot, in a turn of the loop that has the time: a busy machine takes it away now and then. */
const inTime = <T>(work: () => T | undefined): Promise<T> =>
  eventually('a turn that has the time', () => {
    const found = work();
    return found !== undefined && { found };
  }).then(({ found }) => found);

const open = (path: string): Promise<number> => inTime(() => quick.open(path, READ));

function opened(path: string): boolean {
  const file = quick.open(path, READ);
  if (file !== undefined) closeSync(file);
  return file !== undefined;
}

describe.skipIf(!isLocal)('on the spot', () => {
  it('is nothing of a folder of which nothing is known yet', async () => {
    expect(quick.stats(join(base, 'file'))).toBeUndefined();
    expect(opened(join(base, 'file'))).toBe(false);
    await known();
    closeSync(await open(join(base, 'file')));
  });

  it('is nothing where devices lie', async () => {
    quick.stats('/dev/null');
    quick.stats('/dev/shm/x');
    await known();
    await statfs('/dev');
    expect(quick.stats('/dev/null')).toBeUndefined();
    expect(quick.stats('/dev/shm/x')).toBeUndefined();
    expect(opened('/dev/null')).toBe(false);
  });

  it('is a small file, whole or in part, as far as it goes', async () => {
    const path = join(base, 'file');
    await known();
    const file = await open(path);
    try {
      const stats = fstatSync(file);
      const read = async (from: number, length: number) =>
        (await inTime(() => quick.read(path, file, stats, from, length))).toString();
      expect(await read(0, 7)).toBe('content');
      expect(await read(3, 2)).toBe('te');
      truncateSync(path, 4);
      expect(await read(0, 7)).toBe('cont');
      expect(quick.read(path, file, stats, 0, SMALL + 1)).toBeUndefined();
      expect(quick.read(path, file, { ...stats, dev: stats.dev + 1 } as typeof stats, 0, 7)).toBeUndefined();
    } finally {
      closeSync(file);
    }
  });

  it('is no link, nothing that is missing, and nothing behind a slash or dots', async () => {
    symlinkSync('/proc/self/status', join(base, 'link'));
    mkdirSync(join(base, 'folder'));
    await known();
    expect((await inTime(() => quick.stats(join(base, 'link')))).isSymbolicLink()).toBe(true);
    for (const name of ['link', 'missing', 'folder/', 'link/', '.', '..', ''])
      expect(opened(`${base}/${name}`)).toBe(false);
  });

  it('is nothing that a link leads to, or that lies on another file system', async () => {
    symlinkSync(base, join(base, 'again'));
    const paths = [join(base, 'again', 'file'), '/proc/version', '/sys/kernel/uevent_seqnum', '/proc'];
    for (const path of paths) expect(quick.stats(path)).toBeUndefined();
    await known();
    for (const path of paths) expect(quick.stats(path)).toBeUndefined();
  });

  it('is only so much in one turn of the loop', async () => {
    const path = join(base, 'file');
    await known();
    closeSync(await open(path));
    while (opened(path));
    closeSync(await open(path));
  });
});
