// Watches of paths: bounded in folders, and given back.

import { rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { type Deferred, deferred } from '../../../src/base/signals.ts';
import { GATHER_MS } from '../../../src/fs/changes.ts';
import { FolderWatches } from '../../../src/fs/folder-watches.ts';
import { FIRST_PAUSE_MS, PathWatch } from '../../../src/fs/path-watch.ts';
import { eventually } from '../children/waiting.ts';
import { ManualClock } from '../transports/manual-clock.ts';

let folder: string;
let watches: FolderWatches;
let told: Deferred<{ readonly paths: readonly string[]; readonly rescan: boolean }>;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'heddle-watch-')));
  watches = new FolderWatches();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const start = (path: string, maxFolders?: number) => {
  const own = deferred<{ readonly paths: readonly string[]; readonly rescan: boolean }>();
  told = own;
  return PathWatch.start(path, {
    watches,
    clock: systemClock,
    isRecursive: true,
    accepts: (real) => !real.includes('secret'),
    acceptsAbove: () => true,
    hasRoom: async () => {},
    tell: (paths, rescan) => own.resolve({ paths, rescan }),
    ...(maxFolders === undefined ? {} : { maxFolders }),
  });
};

test('more folders than allowed are said to be missing, at the start and when they come', async () => {
  for (let index = 0; index < 10; index += 1) await mkdir(join(folder, `${index}`));
  const watch = await start(folder, 5);
  expect(watch.isComplete).toBe(false);
  expect((await told.promise).rescan).toBe(true);
  expect(watches.size).toBe(6); // and the one above
  await watch.close();

  const other = await start(folder, 11);
  expect(other.isComplete).toBe(true);
  await mkdir(join(folder, 'one-more'));
  expect((await told.promise).rescan).toBe(true);
  expect(other.isComplete).toBe(false);
  await other.close();
});

test('all handles are given back, also of folders that went', async () => {
  await mkdir(join(folder, 'a', 'b'), { recursive: true });
  const watch = await start(folder);
  expect(watches.size).toBe(4);
  // Nothing else is done by this process meanwhile: it hears of all of it at once.
  rmSync(join(folder, 'a'), { recursive: true });
  expect((await told.promise).paths).toContain(join(folder, 'a'));
  expect(watches.size).toBe(2);
  await watch.close();
  expect(watches.size).toBe(0);
});

test('what may not be seen is neither watched nor told', async () => {
  await mkdir(join(folder, 'secret'));
  const watch = await start(folder);
  expect(watches.size).toBe(2);
  await writeFile(join(folder, 'secret', 'x'), '');
  await writeFile(join(folder, 'secret-too'), '');
  await writeFile(join(folder, 'open'), '');
  expect((await told.promise).paths).toEqual([join(folder, 'open')]);
  await watch.close();
});

test('a burst that may have filled the queue of the system is told as one', async () => {
  const watch = await start(folder);
  const { readFileSync, writeFileSync, utimesSync } = await import('node:fs');
  const queue = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'));
  // Without giving the loop a chance to read; neighbouring events that are equal would be joined.
  for (const name of ['a', 'b']) writeFileSync(join(folder, name), '');
  for (let index = 0; index < queue; index += 1) utimesSync(join(folder, index % 2 === 0 ? 'a' : 'b'), 1, index);
  expect((await told.promise).rescan).toBe(true);
  await watch.close();
});

test.each([true, false])(
  'more than can be followed ends the watch for a while (recursive: %s)',
  async (isRecursive) => {
    const clock = new ManualClock();
    const all: { readonly paths: readonly string[]; readonly rescan: boolean }[] = [];
    const watch = await PathWatch.start(folder, {
      ...{ watches, clock, isRecursive, accepts: () => true, acceptsAbove: () => true, hasRoom: async () => {} },
      tell: (paths, rescan) => all.push({ paths, rescan }),
    });
    const isTold = (what: string, look: () => boolean) =>
      eventually(what, async () => {
        clock.advance(GATHER_MS);
        return look();
      });
    // Without giving the loop a chance to read.
    for (let index = 0; index < 4_000; index += 1) {
      writeFileSync(join(folder, 'a'), '');
      unlinkSync(join(folder, 'a'));
    }
    await eventually('the end of the watch', async () => watches.size === 0);
    await isTold('that much was missed', () => all.length > 0);
    expect(all).toEqual([{ paths: [], rescan: true }]);
    clock.advance(FIRST_PAUSE_MS);
    await eventually('the watch', async () => watches.size === 2);
    await isTold('that all is to be looked at', () => all.length > 1);
    expect(all[1]?.rescan).toBe(true);
    writeFileSync(join(folder, 'b'), '');
    await isTold('a single change', () => all.some(({ paths }) => paths.includes(join(folder, 'b'))));
    await watch.close();
  },
);
