// Pages of threads while threads come, go and change: what nobody touches comes exactly once, and paging ends.

import { afterEach, expect, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { openLmdbHistory } from '../../src/history/lmdb.ts';
import { at, threadMeta, turnCompleted, turnStarted } from '../harness/history-events.ts';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';
import type { Received } from '../harness/test-client.ts';
import { runTurn, startThread } from '../harness/turns.ts';

afterEach(cleanUp);

/** 5,000 by command; a tenth of them of one millisecond. */
const THREADS = Number(process.env.HEDDLE_THREADS ?? 400);
const PAGE = 7;
const NOW = Date.UTC(2026, 0, 1);
const nameOf = (index: number): string => `thread-${String(index).padStart(5, '0')}`;

async function stored(): Promise<string> {
  const directory = await temporaryFolder();
  const history = await openLmdbHistory({ directory, log: silentLog() });
  const store = history.forTenant('local');
  const writes = Array.from({ length: THREADS }, async (_, index) => {
    const atMs = NOW + (index < THREADS / 10 ? 0 : index * 1000);
    const id = nameOf((index * 7919) % THREADS);
    await store.create(
      threadMeta(id, { createdAtMs: atMs }),
      at(atMs, turnStarted(`${id}-u`), turnCompleted(`${id}-u`)),
    );
  });
  await Promise.all(writes);
  await history.close();
  return directory;
}

test(`${THREADS} threads in pages of ${PAGE}, while others are touched, archived, made and deleted`, async () => {
  const server = await startApp({ dataDirectory: await stored() });
  let client = await server.connect();
  const untouched = new Set(Array.from({ length: THREADS }, (_, index) => nameOf(index)));
  const touch = (index: number): string => {
    const id = nameOf(index % THREADS);
    untouched.delete(id);
    return id;
  };
  const changes: ((index: number) => Promise<unknown>)[] = [
    async (index) => {
      const threadId = touch(index * 31);
      if ((await client.request('thread/list', { limit: 1, searchTerm: threadId }).catch(() => null)) === null) return;
      await client.request('thread/resume', { threadId, excludeTurns: true }).then(
        () => runTurn(client, threadId, 'say x'),
        () => undefined,
      );
    },
    (index) => client.request('thread/archive', { threadId: touch(index * 17 + 5) }).catch(() => undefined),
    async () => runTurn(client, await startThread(client), 'say new'),
    (index) => client.request('thread/delete', { threadId: touch(index * 13 + 2) }).catch(() => undefined),
  ];
  const times = new Map<string, number>();
  let pages = 0;
  for (let cursor: string | null = null; ; pages += 1) {
    const params: Received = { limit: PAGE, sortKey: 'updated_at', sortDirection: 'desc', cursor };
    const page = await client.request('thread/list', params);
    expect(page.data.length).toBeLessThanOrEqual(PAGE);
    for (const { id } of page.data) times.set(id, (times.get(id) ?? 0) + 1);
    if (cursor !== null && pages % 10 === 3) {
      expect((await client.request('thread/list', params)).data.map(({ id }: Received) => id)).toEqual(
        page.data.map(({ id }: Received) => id),
      );
      for (const other of [{ archived: true }, { sortKey: 'created_at' }, { cwd: '/elsewhere' }])
        expect((await client.refusal('thread/list', { ...params, ...other })).code).toBe(-32602);
      for (const garbage of ['garbage', cursor.slice(1), `${cursor.slice(0, -1)}!`, '{"key":1}'])
        expect((await client.refusal('thread/list', { ...params, cursor: garbage })).code).toBe(-32602);
    }
    cursor = page.nextCursor;
    if (cursor === null) break;
    if (pages % 3 === 0) await changes[(pages / 3) % changes.length]?.(pages);
    if (pages % 25 === 24) {
      await server.restart();
      client = await server.connect();
    }
    expect(pages).toBeLessThan(THREADS);
  }
  for (const id of untouched) expect(times.get(id), id).toBe(1);
  expect(untouched.size).toBeGreaterThan(THREADS / 2);
}, 600_000);
