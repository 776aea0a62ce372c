// A history that is opened for reading only: what would have to be written first is refused, and damage costs what is damaged.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { formatKey, type Key, keysOf, listKey, tablesKey } from '../../../src/history/keys.ts';
import { openLmdbHistory } from '../../../src/history/lmdb.ts';
import { LmdbRows } from '../../../src/history/lmdb-rows.ts';
import { openShutHistory } from '../../../src/history/lmdb-shut.ts';
import { recordsDirectory, recordsFile } from '../../../src/history/places.ts';
import type { ThreadStore } from '../../../src/history/store.ts';
import { at, threadMeta, wholeTurn } from '../../harness/history-events.ts';

let directory: string;
const log = silentLog();
const openShut = () => openShutHistory({ directory, log }, { path: recordsFile(directory), code: 'EROFS' });

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'heddle-shut-'));
  const history = await openLmdbHistory({ directory, log });
  const store = history.forTenant('local');
  for (const id of ['a', 'b']) await store.create(threadMeta(id), at(2, ...wholeTurn(`turn of ${id}`)));
  await history.close();
});
afterEach(() => rm(directory, { recursive: true }));

async function change(work: (rows: LmdbRows) => void): Promise<void> {
  const rows = new LmdbRows(recordsDirectory(directory));
  await rows.write(() => work(rows));
  await rows.close();
}

const listed = (store: ThreadStore) =>
  store.threads({ archived: false, sortKey: 'createdAt', direction: 'asc', limit: 10 });

test.each<[string, Key, string | undefined, RegExp]>([
  ['an older version wrote', formatKey, '1', /may not be written \(EROFS at .*brought up to date first: make its file/],
  ['nothing was written into yet', formatKey, undefined, /brought up to date first/],
  ['lacks its tables', tablesKey, undefined, /its tables have to be made anew first/],
  ['a newer version wrote', formatKey, '99', /has format 99 .*start the newer version/],
])('one that %s is refused', async (_, key, text, message) => {
  await change((rows) => (text === undefined ? rows.remove(key) : rows.put(key, text)));
  await expect(openShut()).rejects.toMatchObject({ kind: 'unavailable', message: expect.stringMatching(message) });
});

test('a list that an older version left behind says that threads may be missing', async () => {
  await change((rows) => rows.remove(listKey));
  const history = await openShut();
  expect(await listed(history.forTenant('local'))).toMatchObject({ rows: [{ id: 'a' }, { id: 'b' }], isPartial: true });
  await history.close();
});

test('a damaged row costs its thread, which is said; the others are there', async () => {
  const damaged = keysOf('local').meta('a');
  const path = recordsDirectory(directory);
  const { open } = await import('lmdb');
  const database = open<string, (string | number)[]>({ path, encoding: 'string', maxDbs: 32 });
  await database.put([...damaged], 'no row');
  await database.close();
  const history = await openShut();
  const store = history.forTenant('local');
  expect(await listed(store)).toMatchObject({ rows: [{ id: 'b' }], isPartial: true });
  await expect(store.meta('a')).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringMatching(/thread a is damaged and cannot be made anew: .*EROFS/),
  });
  expect(await store.events('a', 0, 100)).not.toEqual([]);
  await history.close();
});

test('no store of it writes, by itself or when asked', async () => {
  const history = await openShut();
  const store = history.forTenant('local');
  const refused = { kind: 'unavailable', data: { reason: 'historyReadOnly' } };
  await expect(store.create(threadMeta('c'), [])).rejects.toMatchObject(refused);
  await expect(store.remove('a')).rejects.toMatchObject(refused);
  await expect(store.fork('a', 1, threadMeta('d'))).rejects.toMatchObject(refused);
  await expect(store.ledger.claim('m', 'k', 'f')).rejects.toMatchObject(refused);
  const head = await store.head('a');
  await expect(store.append('a', head!, at(3, { type: 'threadNamed', name: 'n' }))).rejects.toMatchObject(refused);
  expect(await store.head('a')).toBe(head);
  expect(
    (await store.search({ term: 'answer', archived: false, sortKey: 'createdAt', direction: 'asc', limit: 9 })).rows,
  ).toHaveLength(2);
  await history.close();
});
