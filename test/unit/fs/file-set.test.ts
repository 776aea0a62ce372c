// Several files changed as one: what is on disk when all goes well, when one of them cannot be changed, and after an abort.

import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sha256 } from '../../../src/base/canonical.ts';
import { type AppError, isAppError } from '../../../src/base/errors.ts';
import { NO_LEFTOVERS } from '../../../src/base/leftovers.ts';
import { changeFiles, type FileEffect } from '../../../src/fs/file-set.ts';
import { type Commits, NO_FILE } from '../../../src/fs/replacement.ts';
import { readTextFile } from '../../../src/fs/text-file.ts';
import { Queues } from '../../../src/rpc/queues.ts';

const open = new AbortController().signal;
let folder: string;
let commits: Commits;
let noted: Set<string>;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'heddle-test-')));
  noted = new Set();
  const note = (path: string) => {
    noted.add(path);
    return () => void noted.delete(path);
  };
  commits = { queues: new Queues(), leftovers: { note } };
  await writeFile(at('a'), 'a\n');
  await writeFile(at('b'), 'b\n');
});

afterEach(() => rm(folder, { recursive: true }));

const at = (name: string): string => join(folder, name);
const read = (name: string) => readFile(at(name), 'utf8').catch(() => undefined);
const effect = (
  name: string,
  before: string | null,
  after: string | null,
  more: Partial<FileEffect> = {},
): FileEffect => ({
  path: at(name),
  expected: before === null ? NO_FILE : sha256(before),
  content: after === null ? null : Buffer.from(after),
  ...more,
});
const names = async () => (await readdir(folder, { recursive: true })).toSorted();

test('all changes are in place, with the modes that were asked for or were there', async () => {
  await chmod(at('a'), 0o750);
  const effects = [
    effect('a', 'a\n', 'A\n'),
    effect('b', 'b\n', null),
    effect('new/folder/c', null, 'c\n', { mode: 0o711 }),
    effect('new/folder/d', null, ''),
  ];
  await changeFiles(effects, commits, open);
  expect(await names()).toEqual(['a', 'new', 'new/folder', 'new/folder/c', 'new/folder/d']);
  expect([await read('a'), await read('new/folder/c')]).toEqual(['A\n', 'c\n']);
  expect((await stat(at('a'))).mode & 0o777).toBe(0o750);
  expect((await stat(at('new/folder/c'))).mode & 0o777).toBe(0o711);
  expect([...noted]).toEqual([]);
});

test.each<[string, () => FileEffect]>([
  ['a file that is not the expected one', () => effect('last', 'else', 'x')],
  ['a file that is there although none was expected', () => effect('last', null, 'x')],
  ['a removed file that is not the expected one', () => effect('last', 'else', null)],
  ['a folder', () => effect('folder', null, 'x')],
  ['a name that is too long', () => effect('n'.repeat(300), null, 'x')],
])('%s takes back all that was done before it', async (_what, last) => {
  await writeFile(at('last'), 'last\n');
  await mkdir(at('folder'));
  const before = await names();
  const inode = (await stat(at('a'))).ino;
  const effects = [effect('a', 'a\n', 'A\n'), effect('b', 'b\n', null), effect('new/c', null, 'c\n'), last()];
  await expect(changeFiles(effects, commits, open)).rejects.toThrow(/changed since|Is a directory|too long/);
  expect(await names()).toEqual(before);
  expect([await read('a'), await read('b'), await read('last')]).toEqual(['a\n', 'b\n', 'last\n']);
  expect((await stat(at('a'))).ino).toBe(inode);
  expect([...noted]).toEqual([]);
});

test('an abort before the first change leaves nothing', async () => {
  const before = await names();
  const effects = [effect('a', 'a\n', 'A\n'), effect('new/c', null, 'c\n')];
  await expect(changeFiles(effects, commits, AbortSignal.abort())).rejects.toMatchObject({ kind: 'cancelled' });
  expect(await names()).toEqual(before);
  expect(await read('a')).toBe('a\n');
});

test('an abort afterwards changes nothing any more', async () => {
  const controller = new AbortController();
  const queues = new Queues();
  const enter: typeof queues.enter = (...args) => {
    controller.abort();
    return queues.enter(...args);
  };
  const effects = [effect('a', 'a\n', 'A\n'), effect('b', 'b\n', 'B\n')];
  await changeFiles(
    effects,
    { queues: Object.assign(new Queues(), { enter }), leftovers: NO_LEFTOVERS },
    controller.signal,
  );
  expect([await read('a'), await read('b')]).toEqual(['A\n', 'B\n']);
});

test('what somebody else has changed meanwhile is not taken back, and that is said', async () => {
  const queues = new Queues();
  const enter: typeof queues.enter = async (queue, work, ...rest) => {
    if (queue !== 'none' && queue.key === at('b')) await writeFile(at('a'), 'mine');
    return queues.enter(queue, work, ...rest);
  };
  const effects = [effect('a', 'a\n', 'A\n'), effect('b', 'else', 'B\n')];
  const changing = changeFiles(
    effects,
    { queues: Object.assign(new Queues(), { enter }), leftovers: NO_LEFTOVERS },
    open,
  );
  const refusal = await changing.catch((error: AppError) => error);
  expect(refusal).toMatchObject({ data: { isPartial: true }, message: /changed by somebody else/ });
  expect(await read('a')).toBe('mine');
  const [, kept] = /kept as (\S+)$/.exec((refusal as AppError).message) ?? [];
  expect(await readFile(kept as string, 'utf8')).toBe('a\n');
});

test('files are removed when all others are in place', async () => {
  const order: string[] = [];
  const queues = new Queues();
  const enter: typeof queues.enter = (queue, ...rest) => {
    if (queue !== 'none') order.push(queue.key);
    return queues.enter(queue, ...rest);
  };
  const effects = [effect('a', 'a\n', null), effect('b', 'b\n', 'B\n'), effect('c', null, 'a\n')];
  await changeFiles(effects, { queues: Object.assign(new Queues(), { enter }), leftovers: NO_LEFTOVERS }, open);
  expect(order).toEqual([at('b'), at('c'), at('a')]);
});

const isWhole = (error: unknown): boolean => isAppError(error) && error.data.isPartial === undefined;

test.each<[string, () => FileEffect[]]>([
  ['a file where a folder has to be', () => [effect('x', null, 'x'), effect('x/y', null, 'y')]],
  ['a file below a file', () => [effect('a', 'a\n', 'A\n'), effect('a/y', null, 'y')]],
])('%s: nothing is changed, and nothing else is said', async (_what, effects) => {
  const before = await names();
  await expect(changeFiles(effects(), commits, open)).rejects.toSatisfy(isWhole);
  expect(await names()).toEqual(before);
  expect(await read('a')).toBe('a\n');
});

test('a removed file whose name somebody has taken meanwhile is not taken back, and that is said', async () => {
  const failing = async () => {
    await mkdir(at('a'));
    throw new Error('the disk is gone');
  };
  const queues = new Queues();
  const enter: typeof queues.enter = (queue, work, ...rest) =>
    queues.enter(queue, queue !== 'none' && queue.key === at('b') ? failing : work, ...rest);
  const shared = { queues: Object.assign(new Queues(), { enter }), leftovers: NO_LEFTOVERS };
  const changing = changeFiles([effect('a', 'a\n', null), effect('b', 'b\n', null)], shared, open);
  await expect(changing).rejects.toMatchObject({ data: { isPartial: true }, message: /changed by somebody else/ });
});

test('a folder that has become a link is not followed, neither to write nor to read', async () => {
  await mkdir(at('real'));
  await mkdir(at('elsewhere/deep'), { recursive: true });
  await writeFile(at('elsewhere/x'), 'secret');
  await rename(at('real'), at('away'));
  await symlink('elsewhere', at('real'));
  await expect(changeFiles([effect('real/x', null, 'x')], commits, open)).rejects.toThrow();
  const moved = { kind: 'forbidden', data: { kind: 'moved' } };
  await expect(changeFiles([effect('real/deep/x', null, 'x')], commits, open)).rejects.toMatchObject(moved);
  await expect(changeFiles([effect('real/new/x', null, 'x')], commits, open)).rejects.toThrow();
  await expect(readTextFile(at('real/deep/x'), 100)).rejects.toMatchObject(moved);
  await expect(readTextFile(at('real/x'), 100)).rejects.toThrow();
  expect((await readdir(at('elsewhere'))).toSorted()).toEqual(['deep', 'x']);
  expect(await readdir(at('elsewhere/deep'))).toEqual([]);
  expect(await read('elsewhere/x')).toBe('secret');
});

test('a file that has become a link is neither replaced nor read', async () => {
  await rm(at('a'));
  await symlink('b', at('a'));
  await expect(changeFiles([effect('a', 'b\n', 'x')], commits, open)).rejects.toThrow();
  await expect(changeFiles([effect('a', 'b\n', null)], commits, open)).rejects.toThrow();
  await expect(readTextFile(at('a'), 100)).rejects.toThrow();
  expect(await read('b')).toBe('b\n');
});

test('text is read with its version and mode, and nothing else is', async () => {
  await chmod(at('a'), 0o640);
  expect(await readTextFile(at('a'), 2)).toEqual({ text: 'a\n', version: sha256('a\n'), mode: 0o640 });
  expect(await readTextFile(at('none'), 2)).toBeUndefined();
  expect(await readTextFile(at('no/folder'), 2)).toBeUndefined();
  await expect(readTextFile(at('a'), 1)).rejects.toMatchObject({ data: { kind: 'too_large' } });
  await expect(readTextFile(folder, 1)).rejects.toMatchObject({ data: { kind: 'not_a_file' } });
  await writeFile(at('a'), Buffer.from([0xc3, 0x28]));
  await expect(readTextFile(at('a'), 9)).rejects.toMatchObject({ data: { kind: 'not_text' } });
  await writeFile(at('a'), '\ufeffx');
  expect((await readTextFile(at('a'), 9))?.text).toBe('\ufeffx');
});
