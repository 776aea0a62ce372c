// Files of remote clients: below the operator's roots and nowhere else, whatever the path looks like and whoever moves things.

import { link, mkdir, readdir, readFile, readlink, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Permission, Principal } from '../../src/auth/principal.ts';
import { cleanUp, type RunningApp, startApp, temporaryFolder } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';

const remote = (permissions: readonly Permission[]): Principal => ({
  tenant: 'local',
  subject: 'someone',
  permissions: new Set(permissions),
  isLocal: false,
});

let folder: string;
let server: RunningApp;
let client: TestClient;

beforeEach(async () => {
  folder = await temporaryFolder();
  for (const name of ['root', 'root/inner', 'root-evil', 'outside']) await mkdir(join(folder, name));
  await writeFile(at('outside/secret'), 'secret');
  await writeFile(at('root/file'), 'plain');
  await symlink(at('outside'), at('root/out'));
  await symlink(at('outside/secret'), at('root/peek'));
  await symlink(at('outside/new'), at('root/dangling'));
  await symlink(at('root/file'), at('root/inner/link'));
  server = await startApp({ config: { remote: { roots: [at('root')] } } });
  client = await server.connectAs(remote(['fs', 'thread:read']), { experimentalApi: true });
});
afterEach(cleanUp);

const at = (path: string): string => `${folder}/${path}`;
const DATA = Buffer.from('written').toString('base64');

/** One request of each kind on a path. */
const REQUESTS: readonly (readonly [string, (path: string) => object])[] = [
  ['fs/readFile', (path) => ({ path })],
  ['fs/writeFile', (path) => ({ path, dataBase64: DATA })],
  ['fs/createDirectory', (path) => ({ path })],
  ['fs/getMetadata', (path) => ({ path })],
  ['fs/readDirectory', (path) => ({ path })],
  ['fs/remove', (path) => ({ path })],
  ['fs/copy', (path) => ({ sourcePath: path, destinationPath: at('root/copy'), recursive: true })],
  ['fs/copy', (path) => ({ sourcePath: at('root/file'), destinationPath: path })],
  ['fs/watch', (path) => ({ watchId: path, path })],
  ['fuzzyFileSearch', (path) => ({ query: 'secret', roots: [path] })],
];

test.each(REQUESTS)('%s is forbidden outside of the roots', async (method, params) => {
  for (const path of [
    'outside',
    'outside/new',
    'root-evil',
    'root/../outside/secret',
    'root/out/secret',
    'root/out/.',
  ]) {
    expect((await client.refusal(method, params(at(path)))).data.kind).toBe('forbidden');
  }
  expect(await readdir(at('outside'))).toEqual(['secret']);
  expect(await readFile(at('outside/secret'), 'utf8')).toBe('secret');
});

test('through links nothing outside is read, written, described or told of', async () => {
  for (const path of ['root/peek', 'root/dangling'])
    for (const [method, params] of REQUESTS.filter(([, make]) => !('sourcePath' in make(''))))
      if (method !== 'fs/remove') {
        const error = await client.refusal(method, params(at(path)));
        expect(error.data.kind).toBe('forbidden');
        expect(error.message).not.toContain('outside');
      }
  const { entries } = await client.request('fs/readDirectory', { path: at('root') });
  const peek = entries.find((entry: { fileName: string }) => entry.fileName === 'peek');
  expect(peek).toEqual({ fileName: 'peek', isDirectory: false, isFile: false, isSymlink: true });
  await client.request('fs/remove', { path: at('root/peek') });
  await client.request('fs/remove', { path: at('root/out') });
  expect(await readFile(at('outside/secret'), 'utf8')).toBe('secret');
});

test('below the roots everything works as for others', async () => {
  await client.request('fs/writeFile', { path: at('root/inner/link'), dataBase64: DATA });
  expect(await readFile(at('root/file'), 'utf8')).toBe('written');
  await client.request('fs/createDirectory', { path: at('root/a/b/c') });
  await client.request('fs/copy', { sourcePath: at('root/inner'), destinationPath: at('root/a/b/d'), recursive: true });
  expect(await readdir(at('root/a/b'))).toEqual(['c', 'd']);
  await client.request('fs/remove', { path: at('root/a') });
  expect((await client.request('fs/getMetadata', { path: at('root') })).isDirectory).toBe(true);
  const { dataBase64 } = await client.request('fs/readFile', { path: at('root/inner/../file') });
  expect(dataBase64).toBe(DATA);
  await client.request('fs/watch', { watchId: 'w', path: at('root'), recursive: true });
  await writeFile(at('root/inner/seen'), '');
  await client.notified('fs/changed', (each) => each.changedPaths.includes(at('root/inner/seen')));
  const { files } = await client.request('fuzzyFileSearch', { query: 'seen', roots: [at('root')] });
  expect(files).toMatchObject([{ path: 'inner/seen' }]);
});

test('a root is not removed, by whatever name', async () => {
  for (const path of ['root', 'root/', 'root/.', 'root/inner/..']) {
    expect((await client.refusal('fs/remove', { path: at(path) })).data.kind).toBe('protected');
  }
  expect(await readFile(at('root/file'), 'utf8')).toBe('plain');
});

test('without the permission, or without roots, there is nothing', async () => {
  const reader = await server.connectAs(remote(['thread:read']), { experimentalApi: true });
  for (const [method, params] of REQUESTS) {
    const error = await reader.refusal(method, params(at('root/file')));
    expect(error.data).toMatchObject({ kind: 'forbidden', permission: 'fs' });
  }
  const info = await reader.request('environment/info', { environmentId: 'local' });
  expect(info.cwd).toBeNull();
  const bare = await (await startApp()).connectAs(remote(['fs']));
  expect((await bare.refusal('fs/readFile', { path: at('root/file') })).data.kind).toBe('forbidden');
});

describe('the data directory, even inside a root', () => {
  test('is neither read nor listed nor copied nor removed', async () => {
    const dataDirectory = at('root/data');
    await mkdir(dataDirectory);
    const inside = await startApp({ dataDirectory, config: { remote: { roots: [at('root')] } } });
    const other = await inside.connectAs(remote(['fs']));
    for (const [method, params] of REQUESTS) {
      const path = method === 'fs/readDirectory' || method === 'fs/watch' ? 'root/data' : 'root/data/config.yaml';
      expect((await other.refusal(method, params(at(path)))).data.kind).toMatch(/forbidden|protected/);
    }
    await writeFile(at('root/database.mdb'), '');
    const { files } = await other.request('fuzzyFileSearch', { query: 'mdb', roots: [at('root')] });
    expect(files).toMatchObject([{ path: 'database.mdb' }]);
    const copy = { sourcePath: at('root'), destinationPath: at('root/inner/all'), recursive: true };
    expect((await other.refusal('fs/copy', copy)).code).toBe(-32602);
    await mkdir(at('root/project'));
    await rename(at('root/file'), at('root/project/file'));
    expect((await other.refusal('fs/remove', { path: at('root') })).data.kind).toBe('protected');
    expect(await readdir(dataDirectory)).toContain('config.yaml');
  });
});

test('who exchanges a folder for a link meanwhile gains nothing', async () => {
  await mkdir(at('root/swap'));
  await writeFile(at('root/swap/secret'), 'harmless');
  let isOver = false;
  /** A folder that a request has just made there is in the way. */
  const clearing = async (work: () => Promise<void>): Promise<void> => {
    await work().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST' && error.code !== 'ENOTEMPTY') throw error;
      await rm(at('root/swap'), { recursive: true, force: true, maxRetries: 20, retryDelay: 1 });
      await clearing(work);
    });
  };
  const swapping = (async () => {
    for (let round = 0; !isOver; round += 1) {
      await rename(at('root/swap'), at('root/aside'));
      await clearing(() => symlink(at('outside'), at('root/swap')));
      await unlink(at('root/swap'));
      await clearing(() => rename(at('root/aside'), at('root/swap')));
      if (round === 2_000_000) throw new Error('the swapping went on for too long');
    }
  })();
  const seen = new Set<string>();
  const tried = (async () => {
    for (let round = 0; round < 60; round += 1) {
      const path = at('root/swap/secret');
      const answers = await Promise.allSettled([
        client.request('fs/readFile', { path }),
        client.request('fs/writeFile', { path: at('root/swap/new'), dataBase64: DATA }),
        client.request('fs/createDirectory', { path: at('root/swap/made/deep') }),
        client.request('fs/remove', { path: at('root/swap/made') }),
        client.request('fs/copy', { sourcePath: at('root/swap'), destinationPath: at('root/took'), recursive: true }),
      ]);
      const [reading] = answers;
      if (reading.status === 'fulfilled') seen.add(Buffer.from(reading.value.dataBase64, 'base64').toString());
      // It was a link at that moment, and was copied as one.
      const isLink = await readlink(at('root/took')).catch(() => undefined);
      if (isLink === undefined) {
        const took = await readFile(at('root/took/secret'), 'utf8').catch(() => 'harmless');
        expect(took).toBe('harmless');
      }
      await rm(at('root/took'), { recursive: true, force: true });
    }
  })();
  await tried.finally(() => {
    isOver = true;
  });
  await swapping;
  expect([...seen]).toEqual(seen.size > 0 ? ['harmless'] : []);
  expect(await readdir(at('outside'))).toEqual(['secret']);
  expect(await readFile(at('outside/secret'), 'utf8')).toBe('secret');
});

test('a file that is replaced does not change another one that shares its content', async () => {
  await link(at('outside/secret'), at('root/shared'));
  await client.request('fs/writeFile', { path: at('root/shared'), dataBase64: DATA });
  expect(await readFile(at('outside/secret'), 'utf8')).toBe('secret');
});
