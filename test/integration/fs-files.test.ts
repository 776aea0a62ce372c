// Files over the wire: what is read is what is there, what is written is whole, and what somebody else wrote is not lost.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmod,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  stat,
  symlink,
  watch,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cleanUp, type RunningApp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { startThread } from '../harness/turns.ts';

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
const base64 = (data: string | Buffer): string => Buffer.from(data).toString('base64');
const digest = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const read = (path: string, wishes: object = {}) => client.request('fs/readFile', { path, ...wishes });
const write = (path: string, data: string | Buffer, wishes: object = {}) =>
  client.request('fs/writeFile', { path, dataBase64: base64(data), ...wishes });
const refused = async (method: string, params: object) => {
  const { code, data } = await client.refusal(method, params);
  return { code, kind: data.kind };
};
/** Nothing of ours is left beside what was asked for. */
const names = async (path = folder): Promise<string[]> => (await readdir(path)).sort();

describe('reading', () => {
  test('gives the exact bytes, their count and their version', async () => {
    const bytes = Buffer.from([0, 255, 254, 10, 0x80]);
    await writeFile(at('binary'), bytes);
    expect(await read(at('binary'))).toEqual({ dataBase64: base64(bytes), size: 5, version: digest(bytes) });
  });

  test('gives a part, cut where the file ends, without reading the rest', async () => {
    await writeFile(at('text'), 'abcdefghij');
    expect(await read(at('text'), { offset: 2, length: 3 })).toEqual({ dataBase64: base64('cde'), size: 10 });
    expect(await read(at('text'), { offset: 8, length: 30 })).toEqual({ dataBase64: base64('ij'), size: 10 });
    expect(await read(at('text'), { offset: 30 })).toEqual({ dataBase64: '', size: 10 });
    const withVersion = await read(at('text'), { offset: 9, withVersion: true });
    expect(withVersion).toEqual({ dataBase64: base64('j'), size: 10, version: digest('abcdefghij') });
  });

  test('reads what the kernel makes up', async () => {
    const { dataBase64 } = await read('/proc/self/status');
    expect(Buffer.from(dataBase64, 'base64').toString()).toContain(`Pid:\t${process.pid}\n`);
  });

  test('says that a file is too large for one answer, and gives it in parts', async () => {
    const data = Buffer.alloc(12 * 1024 * 1024, 'heddle');
    await writeFile(at('large'), data);
    expect(await refused('fs/readFile', { path: at('large') })).toEqual({ code: -32602, kind: 'too_large' });
    const pieces: Buffer[] = [];
    for (let offset = 0; offset < data.length; ) {
      const { dataBase64 } = await read(at('large'), { offset });
      pieces.push(Buffer.from(dataBase64, 'base64'));
      offset += pieces.at(-1)!.length;
    }
    expect(Buffer.concat(pieces).equals(data)).toBe(true);
  });

  test('is refused by kind, naming the path', async () => {
    execFileSync('mkfifo', [at('pipe')]);
    expect(await refused('fs/readFile', { path: at('nope') })).toEqual({ code: -32004, kind: 'not_found' });
    expect(await refused('fs/readFile', { path: folder })).toEqual({ code: -32602, kind: 'is_a_directory' });
    expect(await refused('fs/readFile', { path: at('pipe') })).toEqual({ code: -32602, kind: 'not_a_file' });
    for (const path of ['a.txt', '', `${at('x')}\0`, '~/x']) {
      expect((await refused('fs/readFile', { path })).code).toBe(-32602);
    }
    expect((await client.refusal('fs/readFile', { path: at('nope') })).message).toContain(at('nope'));
  });
});

describe('writing', () => {
  test('replaces the whole file and keeps its mode; new files are made, parents are not', async () => {
    await writeFile(at('script'), 'old and long');
    await chmod(at('script'), 0o751);
    expect(await write(at('script'), 'new')).toEqual({ version: digest('new') });
    expect(await readFile(at('script'), 'utf8')).toBe('new');
    expect((await stat(at('script'))).mode & 0o7777).toBe(0o751);
    await write(at('empty'), '');
    expect(await readFile(at('empty'), 'utf8')).toBe('');
    expect(await refused('fs/writeFile', { path: at('x', 'y'), dataBase64: '' })).toEqual({
      code: -32004,
      kind: 'not_found',
    });
    expect(await names()).toEqual(['empty', 'script']);
  });

  test('goes through links, also to what is not there yet, and leaves them links', async () => {
    await mkdir(at('elsewhere'));
    await symlink(at('elsewhere', 'file'), at('link'));
    await write(at('link'), 'one');
    await write(at('link'), 'two');
    expect(await readlink(at('link'))).toBe(at('elsewhere', 'file'));
    expect(await readFile(at('elsewhere', 'file'), 'utf8')).toBe('two');
    expect(await names(at('elsewhere'))).toEqual(['file']);
  });

  test('puts another file in place: whoever holds the old one goes on reading it whole', async () => {
    await writeFile(at('file'), 'old');
    await link(at('file'), at('other-name'));
    await write(at('file'), 'new');
    expect(await readFile(at('other-name'), 'utf8')).toBe('old');
  });

  test('with an expected version does not overwrite what somebody else wrote', async () => {
    const { version } = await write(at('file'), 'mine');
    await writeFile(at('file'), 'theirs');
    const error = await client.refusal('fs/writeFile', {
      path: at('file'),
      dataBase64: base64('x'),
      expectedVersion: version,
    });
    expect(error).toMatchObject({ code: -32009, data: { kind: 'version_mismatch', version: digest('theirs') } });
    expect(await readFile(at('file'), 'utf8')).toBe('theirs');
    await write(at('file'), 'agreed', { expectedVersion: digest('theirs') });
    expect(await readFile(at('file'), 'utf8')).toBe('agreed');
    expect(await names()).toEqual(['file']);
  });

  test('of many writers with the same expectation exactly one wins', async () => {
    const { version } = await write(at('file'), 'start');
    const others = await Promise.all(Array.from({ length: 5 }, () => server.connect()));
    const outcomes = await Promise.allSettled(
      others.map((each, index) =>
        each.request('fs/writeFile', { path: at('file'), dataBase64: base64(`${index}`), expectedVersion: version }),
      ),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('with the expectation of no file makes one, once', async () => {
    await write(at('file'), 'first', { expectedVersion: 'none' });
    expect(
      await refused('fs/writeFile', { path: at('file'), dataBase64: base64('second'), expectedVersion: 'none' }),
    ).toEqual({ code: -32009, kind: 'version_mismatch' });
    expect(await readFile(at('file'), 'utf8')).toBe('first');
    expect(await names()).toEqual(['file']);
  });

  test('in pieces shows nothing before the last one, and takes them only in order', async () => {
    await writeFile(at('file'), 'old');
    expect(await write(at('file'), 'one ', { offset: 0 })).toEqual({ received: 4 });
    expect(await refused('fs/writeFile', { path: at('file'), dataBase64: base64('x'), offset: 9 })).toEqual({
      code: -32009,
      kind: 'wrong_offset',
    });
    expect(await write(at('file'), 'two ', { offset: 4 })).toEqual({ received: 8 });
    expect(await readFile(at('file'), 'utf8')).toBe('old');
    const last = await write(at('file'), 'three', { offset: 8, isLast: true });
    expect(last).toEqual({ version: digest('one two three'), received: 13 });
    expect(await readFile(at('file'), 'utf8')).toBe('one two three');
    expect(await names()).toEqual(['file']);
  });

  test('in pieces is undone when the connection ends', async () => {
    const other = await server.connect();
    await other.request('fs/writeFile', { path: at('file'), dataBase64: base64('half'), offset: 0 });
    expect(await names()).toHaveLength(1);
    const changes = watch(folder)[Symbol.asyncIterator]();
    other.wire.end();
    while ((await names()).length > 0) await changes.next();
    await changes.return?.();
    expect(await names()).toEqual([]);
  });

  test('is refused for what is no base64, no file, or not to be written', async () => {
    for (const dataBase64 of ['!!!', 'aGk', 'aGk=aGk=', 'aG k=', 'a-_='])
      expect((await refused('fs/writeFile', { path: at('bad'), dataBase64 })).code).toBe(-32602);
    expect((await refused('fs/writeFile', { path: folder, dataBase64: '' })).kind).toBe('is_a_directory');
    execFileSync('mkfifo', [at('pipe')]);
    expect((await refused('fs/writeFile', { path: at('pipe'), dataBase64: '' })).kind).toBe('not_a_file');
    if (process.getuid?.() === 0) console.warn('running as root: that a read-only file is not replaced is not tested');
    else {
      await writeFile(at('fixed'), 'x', { mode: 0o444 });
      expect((await refused('fs/writeFile', { path: at('fixed'), dataBase64: '' })).code).toBe(-32600);
    }
  });

  test('with an idempotency key is done once', async () => {
    const params = { path: at('file'), dataBase64: base64('a'), idempotencyKey: 'k' };
    const first = await client.request('fs/writeFile', params);
    await writeFile(at('file'), 'later');
    expect(await client.request('fs/writeFile', params)).toEqual(first);
    expect(await readFile(at('file'), 'utf8')).toBe('later');
  });
});

describe('folders', () => {
  test('are listed by name, with what links lead to, in pages', async () => {
    await mkdir(at('d'));
    for (const name of ['b', 'a', 'c']) await writeFile(at(name), '');
    await symlink(at('d'), at('to-folder'));
    await symlink(at('nowhere'), at('dangling'));
    const entry = (fileName: string, isDirectory: boolean, isSymlink = false) => ({
      fileName,
      isDirectory,
      isFile: !isDirectory,
      isSymlink,
    });
    const all = [
      entry('a', false),
      entry('b', false),
      entry('c', false),
      entry('d', true),
      entry('to-folder', true, true),
    ];
    expect(await client.request('fs/readDirectory', { path: folder })).toEqual({ entries: all });
    const page = await client.request('fs/readDirectory', { path: folder, limit: 3 });
    expect(page).toEqual({ entries: all.slice(0, 3), nextAfter: 'c' });
    expect(await client.request('fs/readDirectory', { path: folder, after: 'c' })).toEqual({ entries: all.slice(3) });
  });

  test('are made with those above them, unless that is not wanted', async () => {
    await client.request('fs/createDirectory', { path: at('a', 'b', 'c') });
    await client.request('fs/createDirectory', { path: at('a', 'b') });
    await writeFile(at('file'), '');
    const make = (path: string, recursive = true) => refused('fs/createDirectory', { path, recursive });
    expect(await make(at('a'), false)).toEqual({ code: -32009, kind: 'already_exists' });
    expect(await make(at('x', 'y'), false)).toEqual({ code: -32004, kind: 'not_found' });
    expect(await make(at('file'))).toEqual({ code: -32009, kind: 'already_exists' });
    expect((await stat(at('a', 'b', 'c'))).isDirectory()).toBe(true);
  });
});

describe('copying', () => {
  test('a tree keeps links, modes and contents, and says what it left out', async () => {
    await mkdir(at('tree', 'inner'), { recursive: true });
    await writeFile(at('tree', 'inner', 'script'), '#!');
    await chmod(at('tree', 'inner', 'script'), 0o755);
    const large = Buffer.alloc(2_500_000, 'heddle');
    await writeFile(at('tree', 'large'), large);
    await symlink('inner/script', at('tree', 'link'));
    await symlink('/nowhere', at('tree', 'dangling'));
    execFileSync('mkfifo', [at('tree', 'pipe')]);
    await chmod(at('tree', 'inner'), 0o750);
    const answer = await client.request('fs/copy', {
      sourcePath: at('tree'),
      destinationPath: at('copy'),
      recursive: true,
    });
    expect(answer).toEqual({ skippedPaths: [at('tree', 'pipe')] });
    expect(await names(at('copy'))).toEqual(['dangling', 'inner', 'large', 'link']);
    expect((await readFile(at('copy', 'large'))).equals(large)).toBe(true);
    expect(await readlink(at('copy', 'link'))).toBe('inner/script');
    expect(await readFile(at('copy', 'link'), 'utf8')).toBe('#!');
    expect((await stat(at('copy', 'inner', 'script'))).mode & 0o777).toBe(0o755);
    expect((await stat(at('copy', 'inner'))).mode & 0o777).toBe(0o750);
    expect(await names()).toEqual(['copy', 'tree']);
  });

  test('into a folder that is there puts both together', async () => {
    for (const path of [at('from', 'sub'), at('to', 'sub')]) await mkdir(path, { recursive: true });
    await writeFile(at('from', 'sub', 'same'), 'new');
    await writeFile(at('to', 'sub', 'same'), 'old');
    await writeFile(at('to', 'sub', 'own'), 'own');
    await client.request('fs/copy', { sourcePath: at('from'), destinationPath: at('to'), recursive: true });
    expect(await names(at('to', 'sub'))).toEqual(['own', 'same']);
    expect(await readFile(at('to', 'sub', 'same'), 'utf8')).toBe('new');
  });

  test('a file goes over a file, a link stays a link, and nothing goes into itself', async () => {
    await writeFile(at('a'), 'a');
    await writeFile(at('b'), 'b');
    await mkdir(at('d'));
    await symlink(at('a'), at('link'));
    await symlink(at('d'), at('to-d'));
    const copy = (sourcePath: string, destinationPath: string, recursive = true) => ({
      sourcePath,
      destinationPath,
      recursive,
    });
    await client.request('fs/copy', copy(at('a'), at('b')));
    expect(await readFile(at('b'), 'utf8')).toBe('a');
    await client.request('fs/copy', copy(at('link'), at('link2')));
    expect((await lstat(at('link2'))).isSymbolicLink()).toBe(true);
    for (const params of [copy(at('a'), at('a')), copy(at('a'), at('link')), copy(at('d'), at('d', 'x'))])
      expect((await refused('fs/copy', params)).code).toBe(-32602);
    expect((await refused('fs/copy', copy(at('d'), at('to-d', 'x')))).code).toBe(-32602);
    expect((await refused('fs/copy', copy(at('d'), at('e'), false))).code).toBe(-32602);
    expect((await refused('fs/copy', copy(at('a'), at('d')))).kind).toBe('is_a_directory');
    expect((await refused('fs/copy', copy(at('nope'), at('e')))).code).toBe(-32004);
    expect(await readFile(at('a'), 'utf8')).toBe('a');
  });

  test('can be cancelled, and then the copy does not come to be', async () => {
    await mkdir(at('tree'));
    for (let index = 0; index < 300; index += 1) await writeFile(at('tree', `${index}`), 'x');
    const params = { sourcePath: at('tree'), destinationPath: at('copy'), recursive: true, copyId: 'c' };
    const copying = client.post('fs/copy', params);
    expect(await client.request('fs/cancelCopy', { copyId: 'c' })).toEqual({ cancelled: true });
    await expect(client.answerTo(copying)).rejects.toMatchObject({ data: { kind: 'cancelled' } });
    expect(await names()).toEqual(['tree']);
    expect(await client.request('fs/cancelCopy', { copyId: 'c' })).toEqual({ cancelled: false });
  });
});

describe('removing', () => {
  test('takes trees, but of a link only the link', async () => {
    await mkdir(at('tree', 'a', 'b'), { recursive: true });
    await mkdir(at('kept'));
    await writeFile(at('kept', 'file'), '');
    await writeFile(at('tree', 'a', 'file'), '');
    await symlink(at('kept'), at('tree', 'a', 'link'));
    expect(await refused('fs/remove', { path: at('tree'), recursive: false })).toEqual({
      code: -32009,
      kind: 'not_empty',
    });
    await client.request('fs/remove', { path: at('tree') });
    expect(await names()).toEqual(['kept']);
    expect(await names(at('kept'))).toEqual(['file']);
    await client.request('fs/remove', { path: at('gone') });
    await client.request('fs/remove', { path: at('gone', 'deeper') });
    expect((await refused('fs/remove', { path: at('gone'), force: false })).code).toBe(-32004);
  });

  test('is refused for what somebody lives in, by whatever name', async () => {
    await mkdir(at('project', 'inner'), { recursive: true });
    await symlink(folder, at('project', 'way-up'));
    await startThread(client, { cwd: at('project', 'inner') });
    const dataDirectory = server.dataDirectory;
    for (const path of [
      dataDirectory,
      join(dataDirectory, '..'),
      folder,
      at('project'),
      at('project', 'inner'),
      `${at('project', 'inner')}/.`,
      `${at('project', 'way-up')}/project`,
      `${at('project', 'way-up')}/.`,
    ])
      expect(await refused('fs/remove', { path })).toEqual({ code: -32600, kind: 'protected' });
    expect((await stat(at('project', 'inner'))).isDirectory()).toBe(true);
  });
});

test('metadata tell of the path itself and of what it leads to', async () => {
  await writeFile(at('file'), 'four', { mode: 0o640 });
  await symlink(at('file'), at('link'));
  await symlink(at('nowhere'), at('dangling'));
  const { mtimeMs } = await stat(at('file'));
  const file = { isDirectory: false, isFile: true, isSymlink: false, size: 4, mode: 0o640 };
  const metadata = (path: string) => client.request('fs/getMetadata', { path });
  expect(await metadata(at('file'))).toMatchObject({ ...file, modifiedAtMs: Math.trunc(mtimeMs) });
  expect(await metadata(at('link'))).toMatchObject({ ...file, isSymlink: true });
  expect(await metadata(folder)).toMatchObject({ isDirectory: true, isFile: false, isSymlink: false });
  expect((await refused('fs/getMetadata', { path: at('dangling') })).code).toBe(-32004);
  expect((await refused('fs/getMetadata', { path: at('file', 'x') })).kind).toBe('not_a_directory');
});

test('the local environment is described, others are not taken for it', async () => {
  const expert = await server.connect({ experimentalApi: true });
  const info = await expert.request('environment/info', { environmentId: 'local' });
  expect(info).toMatchObject({ shell: { path: expect.stringMatching(/^\//) }, cwd: `file://${folder}` });
  expect(await expert.request('environment/status', { environmentId: 'local' })).toEqual({ status: 'ready' });
  expect((await expert.refusal('environment/info', { environmentId: 'zz' })).message).toContain('`zz`');
  expect(await expert.request('environment/status', { environmentId: 'zz' })).toMatchObject({ status: 'unknown' });
  const params = { environmentId: 'zz', execServerUrl: 'ws://127.0.0.1:9' };
  expect((await expert.refusal('environment/add', params)).data.kind).toBe('unsupported');
});
