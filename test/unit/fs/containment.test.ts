// Whether a path lies below a root, with links, dots, siblings and paths that do not exist yet.

import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isBelow, realPathOf } from '../../../src/fs/containment.ts';

let folder: string;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'heddle-below-')));
  for (const name of ['root/inner', 'root-evil', 'outside/deep']) await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, 'root/file'), '');
  for (const [to, from] of [
    ['outside', 'root/out'],
    ['root', 'way-in'],
    ['root/inner', 'outside/in'],
    ['root/loop', 'root/loop'],
    ['outside/not-there', 'root/dangling'],
    ['root/not-there', 'root/dangling-inside'],
    ['root/ring-b', 'root/ring-a'],
    ['root/ring-a', 'root/ring-b'],
  ] as const)
    await symlink(join(folder, to), join(folder, from));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const below = (path: string) => isBelow(`${folder}/${path}`, [`${folder}/root`]);

describe('lies below', () => {
  test.each([
    ['root'],
    ['root/'],
    ['root/inner'],
    ['root/file'],
    ['root/inner/../file'],
    ['root/not-there'],
    ['root/not-there/deeper/still'],
    ['root/..dots'],
    ['root/dangling-inside'],
    ['outside/in/../file'],
    ['root/not-there/../file'],
    ['way-in/inner'],
    ['outside/in'],
    ['outside/in/not-there'],
  ])('%s', async (path) => {
    expect(await below(path)).toBe(true);
  });
});

describe('does not', () => {
  test.each([
    [''],
    ['root-evil'],
    ['roo'],
    ['root/..'],
    ['root/../root-evil/x'],
    ['root/out'],
    ['root/out/deep'],
    ['root/out/not-there'],
    ['root/dangling'],
    ['root/dangling/deeper'],
    ['root/ring-a'],
    ['root/out/../root-evil'],
    ['root/out/..'],
    ['root/loop'],
    ['root/file/below-a-file'],
    ['root/nul\u0000'],
  ])('%j', async (path) => {
    expect(await below(path)).toBe(false);
  });

  test('a relative path, whatever the root', async () => {
    expect(await isBelow('root', [`${folder}/root`, '/'])).toBe(false);
  });

  test('anything, without roots', async () => {
    expect(await isBelow(folder, [])).toBe(false);
  });
});

test('the root of everything holds everything', async () => {
  expect(await isBelow(folder, ['/'])).toBe(true);
});

test('a root may be a link, or not exist yet', async () => {
  expect(await isBelow(`${folder}/root/inner`, [`${folder}/way-in`])).toBe(true);
  expect(await isBelow(`${folder}/later/x`, [`${folder}/later`])).toBe(true);
  expect(await isBelow(`${folder}/later-evil`, [`${folder}/later`])).toBe(false);
});

test('the real path keeps what does not exist yet', async () => {
  expect(await realPathOf(`${folder}/way-in/inner/new/file`)).toBe(`${folder}/root/inner/new/file`);
});
