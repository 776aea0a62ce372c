// Hundreds of generated paths, each tried by every method of a remote client: nothing outside of the root is touched or told.

import { lstat, mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Principal } from '../../src/auth/principal.ts';
import { choicesOf } from '../harness/schedule.ts';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';

const SEED = Number(process.env.HEDDLE_SEED ?? 20_201);
const CASES = 600;
const SECRET = 'must not be seen';

const PRINCIPAL: Principal = {
  tenant: 'local',
  subject: 'someone',
  permissions: new Set(['fs']),
  isLocal: false,
};

/** Beginnings and parts of paths that have fooled somebody somewhere. */
const BEGINNINGS = [
  'ROOT',
  'ROOT',
  'ROOT',
  'TOP/root-evil',
  'TOP/ROOT-UPPER',
  'TOP',
  'TOP/outside',
  '',
  '/',
  'root',
  '.',
  '..',
];
const PARTS = [
  '..',
  '..',
  '../..',
  '.',
  '',
  '/',
  'inner',
  'out',
  'peek',
  'dangling',
  'loop',
  'up',
  'file',
  'new',
  'outside',
  'secret',
  'root',
  'root-evil',
  '...',
  '..%2f',
  '%2e%2e',
  '..\\',
  '..\u0000',
  'nul\u0000/../..',
  'a\nb',
  ' ',
  '~',
  '$HOME',
  '.heddle-0123456789abcdef.tmp',
  'ínner',
  'INNER',
  '\u202e',
  'x'.repeat(256),
  'proc/self/root',
  'inner/to-out/..',
];

function pathsFrom(seed: number, top: string): string[] {
  const next = choicesOf(seed).below;
  const one = <T>(values: readonly T[]): T => values[next(values.length)]!;
  return Array.from({ length: CASES }, () => {
    const parts = Array.from({ length: next(6) }, () => one(PARTS));
    const begin = one(BEGINNINGS).replace('ROOT-UPPER', 'ROOT').replace(/^ROOT/, `${top}/root`).replace(/^TOP/, top);
    return [begin, ...parts].join('/') + one(['', '', '/', '/.', '//']);
  });
}

let top: string;
let client: TestClient;

beforeEach(async () => {
  top = await temporaryFolder();
  for (const name of ['root-evil', 'outside/deep', 'ROOT']) await mkdir(join(top, name), { recursive: true });
  for (const name of ['outside/secret', 'root-evil/file', 'ROOT/file', 'secret'])
    await writeFile(join(top, name), SECRET);
  await furnish();
  const server = await startApp({ config: { remote: { roots: [join(top, 'root')] } } });
  client = await server.connectAs(PRINCIPAL);
});
afterEach(cleanUp);

/** The inside, as it is before each case. */
async function furnish(): Promise<void> {
  await rm(join(top, 'root'), { recursive: true, force: true });
  await mkdir(join(top, 'root/inner'), { recursive: true });
  await writeFile(join(top, 'root/file'), 'plain');
  for (const [name, to] of [
    ['out', '../outside'],
    ['inner/to-out', '../out'],
    ['peek', join(top, 'outside/secret')],
    ['dangling', '../outside/not-there'],
    ['loop', 'loop'],
    ['up', '..'],
  ] as const)
    await symlink(to, join(top, 'root', name));
}

/** Everything outside of the root: names, kinds, contents. */
async function outside(folder = top): Promise<string[]> {
  const found: string[] = [];
  for (const name of (await readdir(folder)).sort()) {
    const path = join(folder, name);
    if (path === join(top, 'root')) continue;
    const stats = await lstat(path);
    if (stats.isDirectory()) found.push(`${path}/`, ...(await outside(path)));
    else found.push(`${path} ${stats.isSymbolicLink() ? await readlink(path) : await readFile(path, 'utf8')}`);
  }
  return found;
}

const DATA = Buffer.from('intruder').toString('base64');

const attempts = (path: string): readonly (readonly [string, object])[] => [
  ['fs/readFile', { path }],
  ['fs/getMetadata', { path }],
  ['fs/readDirectory', { path }],
  ['fs/writeFile', { path, dataBase64: DATA }],
  ['fs/createDirectory', { path }],
  ['fs/copy', { sourcePath: path, destinationPath: join(top, 'root/taken'), recursive: true }],
  ['fs/copy', { sourcePath: join(top, 'root/inner'), destinationPath: path, recursive: true }],
  ['fs/watch', { watchId: path, path }],
  ['fs/unwatch', { watchId: path }],
  ['fs/remove', { path }],
];

test(`${CASES} paths of seed ${SEED}`, async () => {
  const before = await outside();
  const told = Buffer.from(SECRET).toString('base64');
  let allowed = 0;
  for (const path of pathsFrom(SEED, top)) {
    for (const [method, params] of attempts(path)) {
      const answer = await client.request(method, params).catch((error: { code: number; message: string }) => error);
      const text = JSON.stringify(answer);
      const shown = `${method} ${JSON.stringify(path)}`;
      expect(text, shown).not.toContain(told);
      expect(text, shown).not.toMatch(/"fileName":"(secret|deep|root-evil)"/);
      expect('code' in answer && answer.code === -32603, `${shown}: ${text}`).toBe(false);
      if (!('code' in answer)) allowed += 1;
    }
    expect(await outside(), JSON.stringify(path)).toEqual(before);
    await furnish();
  }
  // The corpus is worth something only if some of it is let in.
  expect(allowed).toBeGreaterThan(CASES);
});
