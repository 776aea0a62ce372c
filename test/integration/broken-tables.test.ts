// The index of threads missing, empty, wrong or old: a cache may cost time, never data or service.

import { open as openDatabase } from 'lmdb';
import { afterEach, expect, test } from 'vitest';
import { keysOf, tablesKey } from '../../src/history/keys.ts';
import { recordsDirectory } from '../../src/history/places.ts';
import { cleanUp, type RunningApp, startApp } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { itemsOf, runTurn, startThread } from '../harness/turns.ts';

afterEach(cleanUp);

type DatabaseKey = (string | number)[];
type Database = ReturnType<typeof openDatabase<Buffer, DatabaseKey>>;

/** Orders and filters of the list, the rows of threads, their turns and items, and who uses which long value. */
const isOfTables = (key: DatabaseKey): boolean =>
  (key[0] === 'local' && 'swpfgnb'.includes(String(key[1]))) || (key[1] === 't' && 'muvijchb'.includes(String(key[3])));

async function harm(server: RunningApp, work: (database: Database, keys: DatabaseKey[]) => void): Promise<void> {
  const path = recordsDirectory(server.dataDirectory);
  const database = openDatabase<Buffer, DatabaseKey>({ path, encoding: 'binary', maxDbs: 32 });
  await database.transaction(() => work(database, [...database.getKeys()].filter(isOfTables)));
  await database.close();
}

/** All pages, with nothing that depends on what is loaded; and whether the server says that some may be missing. */
async function listed(client: TestClient): Promise<{ threads: Received[]; isPartial: boolean }> {
  const threads: Received[] = [];
  let isPartial = false;
  for (let cursor: string | null = null; ; ) {
    const page: Received = await client.request('thread/list', { limit: 3, cursor });
    threads.push(...page.data.map(({ status: _, ...thread }: Received) => thread));
    isPartial ||= page.partial === true;
    cursor = page.nextCursor;
    if (cursor === null) return { threads, isPartial };
  }
}

test.each<[string, (database: Database, keys: DatabaseKey[]) => void]>([
  ['deleted', (database, keys) => [...keys, [...tablesKey]].forEach((key) => void database.remove(key))],
  ['empty', (database, keys) => keys.forEach((key) => void database.put(key, Buffer.from('\u0000')))],
  ['random', (database, keys) => keys.forEach((key) => void database.put(key, Buffer.from('x'.repeat(99))))],
  ['of an older schema', (database) => void database.put([...tablesKey], Buffer.from('00000000old'))],
])('the tables are %s: the list is the same again, and a turn runs', async (_, work) => {
  const server = await startApp();
  const client = await server.connect();
  const ids: string[] = [];
  for (let index = 0; index < 8; index += 1) {
    ids.push(await startThread(client));
    await runTurn(client, ids[index]!, `say thread ${index}`);
  }
  const long = 'word '.repeat(20_000).trim();
  await runTurn(client, ids[5]!, `say ${long}`);
  const forked: Received = await client.request('thread/fork', { threadId: ids[5] });
  await client.request('thread/name/set', { threadId: ids[2], name: 'a name' });
  await client.request('thread/archive', { threadId: ids[3] });
  await server.restart();
  const recorder = await server.connect();
  const before = await listed(recorder);
  const items = await itemsOf(recorder, ids[4]!);
  expect(before).toMatchObject({ isPartial: false });
  await server.close();
  await harm(server, work);
  const again = await startApp({ dataDirectory: server.dataDirectory });
  const later = await again.connect();
  expect(await itemsOf(later, ids[4]!)).toEqual(items);
  let after = await listed(later);
  while (after.isPartial) {
    await new Promise(setImmediate);
    after = await listed(later);
  }
  expect(after.threads).toEqual(before.threads);
  await later.request('thread/resume', { threadId: ids[0] });
  expect((await runTurn(later, ids[0]!, 'say more')).status).toBe('completed');
  await later.request('thread/delete', { threadId: ids[5] });
  const kept = await itemsOf(later, forked.thread.id);
  expect(kept.filter(({ text }: Received) => text === long)).toHaveLength(1);
});

test('rows without a log are passed over, and the others are there', async () => {
  const server = await startApp();
  const client = await server.connect();
  const ids: string[] = [];
  for (let index = 0; index < 3; index += 1) {
    ids.push(await startThread(client));
    await runTurn(client, ids[index]!, 'say x');
  }
  await server.restart();
  const before = await listed(await server.connect());
  await server.close();
  const lost = keysOf('local').thread(ids[1]!);
  await harm(server, (database) => {
    for (const key of [...database.getKeys()])
      if (lost.every((element, index) => key[index] === element)) database.remove(key);
  });
  const later = await (await startApp({ dataDirectory: server.dataDirectory })).connect();
  expect((await listed(later)).threads).toEqual(before.threads.filter(({ id }) => id !== ids[1]));
  expect((await later.refusal('thread/resume', { threadId: ids[1] })).code).toBe(-32004);
});
