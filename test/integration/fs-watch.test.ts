// Watches: what changes is told once, whatever becomes of the path, and what may have been missed is said.

import { writeFileSync } from 'node:fs';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cleanUp, type RunningApp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { eventually } from '../unit/children/waiting.ts';

let server: RunningApp;
let client: TestClient;
let folder: string;

beforeEach(async () => {
  server = await startApp();
  client = await server.connect();
  folder = server.workspace;
});
afterEach(cleanUp);

const at = (...names: string[]): string => join(folder, ...names);
const watch = (watchId: string, path: string, wishes: object = {}) =>
  client.request('fs/watch', { watchId, path, ...wishes });
/** Settles when a change of this path is told. */
const told = (path: string, watchId = 'w') =>
  client.notified('fs/changed', (each) => each.watchId === watchId && each.changedPaths.includes(path));
const everything = (): string[] => client.news('fs/changed').flatMap((each) => each.changedPaths);

test('a folder tells of what lies in it, not of what lies deeper', async () => {
  await mkdir(at('deep'));
  expect(await watch('w', folder)).toEqual({ path: folder, isComplete: true });
  await writeFile(at('deep', 'hidden'), '');
  await writeFile(at('shown'), '');
  await told(at('shown'));
  expect(everything()).not.toContain(at('deep', 'hidden'));
});

test('changes that come together are told together, sorted and once, without files in the making', async () => {
  await watch('w', folder);
  // Nothing else is done by this process meanwhile: however busy the machine is, it reads of all of them at once.
  for (const name of ['b', 'a', 'c']) {
    writeFileSync(at(name), '');
    writeFileSync(at(name), 'again');
  }
  await told(at('c'));
  expect(client.news('fs/changed')).toEqual([{ watchId: 'w', changedPaths: [at('a'), at('b'), at('c')] }]);
  await client.request('fs/writeFile', { path: at('d'), dataBase64: '' });
  await told(at('d'));
  expect(new Set(everything())).toEqual(new Set(['a', 'b', 'c', 'd'].map((name) => at(name))));
});

test('a file is followed through replacement, removal and return', async () => {
  await writeFile(at('file'), '1');
  await watch('w', at('file'));
  await writeFile(at('other'), '');
  await writeFile(at('new'), '2');
  await rename(at('new'), at('file'));
  await told(at('file'));
  expect(everything()).toEqual([at('file')]);
  await rm(at('file'));
  await client.count(client.transcript.length + 1);
  await writeFile(at('file'), '3');
  await client.count(client.transcript.length + 1);
  expect(new Set(everything())).toEqual(new Set([at('file')]));
});

test('a folder is followed through removal of all above it, and return', async () => {
  await mkdir(at('a', 'b', 'c'), { recursive: true });
  await watch('w', at('a', 'b', 'c'));
  await rm(at('a'), { recursive: true });
  await told(at('a', 'b', 'c'));
  await mkdir(at('a', 'b', 'c'), { recursive: true });
  await eventually('a change in the folder that has returned', async () => {
    await writeFile(at('a', 'b', 'c', 'file'), '');
    return everything().includes(at('a', 'b', 'c', 'file'));
  });
});

test('what is not there yet can be watched', async () => {
  await watch('w', at('x', 'y', 'later'));
  await mkdir(at('x', 'y'), { recursive: true });
  await writeFile(at('x', 'y', 'later'), '');
  await told(at('x', 'y', 'later'));
});

test('the path is the real one', async () => {
  await mkdir(at('real'));
  await symlink(at('real'), at('link'));
  expect((await watch('w', at('link'))).path).toBe(at('real'));
  await writeFile(at('link', 'file'), '');
  await told(at('real', 'file'));
});

describe('everything below', () => {
  test('folders that come are followed, what was in them already is told', async () => {
    await mkdir(at('old', 'deep'), { recursive: true });
    await watch('w', folder, { recursive: true });
    await writeFile(at('old', 'deep', 'file'), '');
    await told(at('old', 'deep', 'file'));
    await mkdir(at('new', 'deep'), { recursive: true });
    await writeFile(at('new', 'deep', 'early'), '');
    await told(at('new', 'deep', 'early'));
    await writeFile(at('new', 'deep', 'late'), '');
    await told(at('new', 'deep', 'late'));
    await rename(at('new'), at('moved'));
    await told(at('moved'));
    await writeFile(at('moved', 'deep', 'last'), '');
    await told(at('moved', 'deep', 'last'));
  });

  test('folders that ignore files name are left alone, until they are no longer named', async () => {
    await mkdir(at('.git'));
    await mkdir(at('build', 'deep'), { recursive: true });
    await mkdir(at('src', 'kept'), { recursive: true });
    await writeFile(at('.gitignore'), 'build/\nkept\n');
    await writeFile(at('src', '.gitignore'), '!kept\n');
    await watch('w', folder, { recursive: true });
    await writeFile(at('build', 'deep', 'output'), '');
    await writeFile(at('.git', 'index'), '');
    await writeFile(at('src', 'kept', 'file'), '');
    await told(at('src', 'kept', 'file'));
    await writeFile(at('.gitignore'), '');
    await client.notified('fs/changed', (each) => each.rescan === true);
    await writeFile(at('build', 'deep', 'more'), '');
    await told(at('build', 'deep', 'more'));
    for (const path of [at('build', 'deep', 'output'), at('.git', 'index')]) expect(everything()).not.toContain(path);
  });
});

test('an id is used once, until it is given back; nothing comes after that', async () => {
  await watch('w', folder);
  await watch('', at('other'));
  const error = await client.refusal('fs/watch', { watchId: 'w', path: folder });
  expect(error.code).toBe(-32009);
  expect(error.message).toContain('watchId already exists: w');
  const other = await server.connect();
  await other.request('fs/watch', { watchId: 'w', path: folder });
  await client.request('fs/unwatch', { watchId: 'w' });
  await client.request('fs/unwatch', { watchId: 'nope' });
  await writeFile(at('file'), '');
  await other.notified('fs/changed');
  await client.settled();
  expect(everything()).toEqual([]);
  await watch('w', folder);
});

test('relative paths are refused', async () => {
  expect((await client.refusal('fs/watch', { watchId: 'w', path: 'x' })).code).toBe(-32602);
});
