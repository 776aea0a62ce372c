// What no client removes or writes: homes, folders of the system, and the server's own files. All below a folder of the test.

import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';

let top: string;
let data: string;
let client: TestClient;
const at = (...names: string[]): string => join(top, ...names);

beforeEach(async () => {
  top = await temporaryFolder();
  data = at('srv', 'deep', 'data');
  for (const folder of [at('home', 'me'), at('usr', 'local'), data]) await mkdir(folder, { recursive: true });
  await symlink(at('usr'), at('link'));
  await symlink(data, at('home', 'me', 'way'));
  const server = await startApp({
    dataDirectory: data,
    kept: { homes: [at('home', 'other'), at('home', 'me')], top },
  });
  client = await server.connect();
});
afterEach(cleanUp);

const kindOf = async (method: string, params: object): Promise<unknown> =>
  (await client.refusal(method, params)).data.kind;

test('homes, whatever holds one, and the folders of the system are not removed', async () => {
  const refused = [top, at('home'), at('home', 'me'), at('usr'), at('link'), at('srv'), at('srv', 'deep'), data];
  for (const path of refused) expect([path, await kindOf('fs/remove', { path })]).toEqual([path, 'protected']);
  for (const path of refused) expect((await stat(path)).isDirectory()).toBe(true);
  await writeFile(at('home', 'me', 'file'), '');
  await client.request('fs/remove', { path: at('home', 'me', 'file') });
  await client.request('fs/remove', { path: at('usr', 'local') });
});

test("the server's own files are neither removed nor written, by whatever way", async () => {
  const owner = join(data, 'owner.lock');
  const before = await readFile(owner, 'utf8');
  const tree = at('home', 'me', 'tree');
  await mkdir(join(tree, 'data'), { recursive: true });
  await writeFile(join(tree, 'data', 'owner.lock'), 'mine');
  const source = join(tree, 'data', 'owner.lock');
  const refused: [string, object][] = [
    ...[join(data, 'history'), owner, at('home', 'me', 'way', 'history')].map((path): [string, object] => [
      'fs/remove',
      { path },
    ]),
    ...[owner, join(data, 'new'), at('home', 'me', 'way', 'owner.lock')].flatMap((path): [string, object][] => [
      ['fs/writeFile', { path, dataBase64: 'YQ==' }],
      ['fs/writeFile', { path, dataBase64: 'YQ==', offset: 0, isLast: false }],
      ['fs/copy', { sourcePath: source, destinationPath: path }],
    ]),
    ['fs/createDirectory', { path: join(data, 'folder') }],
    ['fs/createDirectory', { path: join(data, 'folder', 'deeper') }],
    ['fs/copy', { sourcePath: tree, destinationPath: join(data, 'tree'), recursive: true }],
    ['fs/copy', { sourcePath: tree, destinationPath: at('srv', 'deep'), recursive: true }],
    ['fs/copy', { sourcePath: at('link'), destinationPath: join(data, 'link') }],
  ];
  for (const [method, params] of refused)
    expect([method, params, await kindOf(method, params)]).toEqual([method, params, 'protected']);
  expect(await readFile(owner, 'utf8')).toBe(before);
  expect((await stat(join(data, 'history'))).isDirectory()).toBe(true);
});

test('what people edit there is theirs', async () => {
  await client.request('fs/createDirectory', { path: join(data, 'skills', 'one') });
  for (const name of ['skills/one/SKILL.md', 'AGENTS.md', 'rules/default.rules', 'config.yaml']) {
    const path = join(data, name);
    await mkdir(join(data, 'rules'), { recursive: true });
    await client.request('fs/writeFile', { path, dataBase64: '' });
    expect((await stat(path)).size).toBe(0);
  }
  await client.request('fs/remove', { path: join(data, 'skills', 'one') });
  await client.request('fs/remove', { path: join(data, 'AGENTS.md') });
});
