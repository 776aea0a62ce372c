// Finding files by parts of their names: ranked, without what is ignored, and never the answer to an earlier question.

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cleanUp, type RunningApp, startApp } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';

let server: RunningApp;
let client: TestClient;
let folder: string;

beforeEach(async () => {
  server = await startApp();
  client = await server.connect({ experimentalApi: true });
  folder = server.workspace;
});
afterEach(cleanUp);

const FILES = [
  'src/main.ts',
  'src/manager.ts',
  'src/util/mangle.ts',
  'README.md',
  'ignored/main.ts',
  '.hidden/main.ts',
];

async function fill(files: readonly string[] = FILES): Promise<void> {
  for (const file of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), 'x');
  }
  await writeFile(join(folder, '.gitignore'), 'ignored/\n');
}

const search = (query: string, roots = [folder]) =>
  client.request('fuzzyFileSearch', { query, roots, cancellationToken: null });
const paths = ({ files }: Received): string[] => files.map((file: Received) => file.path);

describe('once', () => {
  beforeEach(() => fill());

  test('names go before paths, and places of letters are told', async () => {
    const { files } = await search('main');
    expect(files).toEqual([
      expect.objectContaining({ root: folder, path: '.hidden/main.ts', file_name: 'main.ts', indices: [8, 9, 10, 11] }),
      expect.objectContaining({ path: 'src/main.ts', match_type: 'file', indices: [4, 5, 6, 7] }),
    ]);
    expect(paths(await search('mgr'))).toEqual(['src/manager.ts']);
    expect(paths(await search('SRC'))).toEqual([
      'src',
      'src/main.ts',
      'src/manager.ts',
      'src/util',
      'src/util/mangle.ts',
    ]);
    expect((await search('util')).files[0]).toMatchObject({ path: 'src/util', match_type: 'directory' });
  });

  test('several words, letters in any case, and other alphabets', async () => {
    await fill(['docs/Grüße.txt', 'docs/猫.md', "odd/it's\nhere.txt"]);
    expect(paths(await search('ma in'))).toContain('src/main.ts');
    expect(paths(await search('MANG'))).toEqual(['src/util/mangle.ts', 'src/manager.ts']);
    expect(paths(await search('grusse'))).toEqual([]);
    expect(paths(await search('Grüße'))).toEqual(['docs/Grüße.txt']);
    expect((await search('猫')).files).toMatchObject([{ path: 'docs/猫.md', indices: [5] }]);
    expect(paths(await search('here.txt'))).toEqual(["odd/it's\nhere.txt"]);
  });

  test('nothing to look for or nowhere to look finds nothing', async () => {
    expect(await search('')).toEqual({ files: [] });
    expect(await search('main', [])).toEqual({ files: [] });
    expect(await search('main', [join(folder, 'nope')])).toEqual({ files: [] });
    expect(paths(await search('main', [join(folder, 'nope'), folder]))).toHaveLength(2);
  });

  test('a search with the same token ends the one before, which is answered', async () => {
    const params = { query: 'main', roots: [folder], cancellationToken: 't' };
    const first = client.post('fuzzyFileSearch', params);
    const second = client.post('fuzzyFileSearch', { ...params, query: 'mgr' });
    expect(paths(await client.answerTo(second))).toEqual(['src/manager.ts']);
    expect((await client.answerTo(first)).files).toBeInstanceOf(Array);
  });
});

describe('a session', () => {
  const ask = (method: string, params: object) =>
    client.request(`fuzzyFileSearch/session${method}`, { sessionId: 's', ...params });
  const completed = () => client.notified('fuzzyFileSearch/sessionCompleted');

  test('follows what is typed; the last query is answered completely', async () => {
    await fill();
    await ask('Start', { roots: [folder] });
    await completed();
    for (const query of ['m', 'ma', 'man', 'mang'])
      client.post('fuzzyFileSearch/sessionUpdate', { sessionId: 's', query });
    const last = await client.notified('fuzzyFileSearch/sessionUpdated', (each) => each.query === 'mang');
    expect(paths(last)).toEqual(['src/util/mangle.ts', 'src/manager.ts']);
    const order = client.news('fuzzyFileSearch/sessionUpdated').map((each) => each.query);
    expect(order).toEqual([...order].sort());
    await ask('Update', { query: '' });
    await client.notified('fuzzyFileSearch/sessionUpdated', (each) => each.query === '');
    expect(client.news('fuzzyFileSearch/sessionUpdated').at(-1)).toEqual({ sessionId: 's', query: '', files: [] });
  });

  test('a large tree: results come, the server goes on answering, and the last query wins', async () => {
    const files = Array.from({ length: 3_000 }, (_, index) => `f${index % 40}/component-${index}.ts`);
    await fill(files);
    await ask('Start', { roots: [folder] });
    for (const query of ['c', 'co', 'com', 'component-2999'])
      client.post('fuzzyFileSearch/sessionUpdate', { sessionId: 's', query });
    await client.settled();
    const news = await client.notified(
      'fuzzyFileSearch/sessionUpdated',
      (each) => each.query === 'component-2999' && each.files.length > 0,
    );
    expect(news.files[0].file_name).toBe('component-2999.ts');
  });

  test('says nothing after it was stopped, and cannot be asked', async () => {
    await fill();
    await ask('Start', { roots: [folder] });
    await completed();
    await ask('Stop', {});
    await ask('Stop', {});
    const error = await client.refusal('fuzzyFileSearch/sessionUpdate', { sessionId: 's', query: 'x' });
    expect(error.code).toBe(-32004);
    expect(error.message).toContain('fuzzy file search session not found: s');
    expect((await client.refusal('fuzzyFileSearch/sessionStart', { sessionId: '', roots: [folder] })).code).toBe(
      -32602,
    );
    expect((await client.refusal('fuzzyFileSearch/sessionStart', { sessionId: 's', roots: [] })).code).toBe(-32602);
    const other = await server.connect();
    const plain = await other.refusal('fuzzyFileSearch/sessionStart', { sessionId: 's', roots: [folder] });
    expect(plain.message).toContain('requires experimentalApi capability');
  });
});
