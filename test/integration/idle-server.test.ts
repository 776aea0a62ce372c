// A server that nobody uses writes nothing, however much of it is loaded.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type LmdbHistory, type LmdbHistoryOptions, openLmdbHistory } from '../../src/history/lmdb.ts';
import type { RowThreadStore } from '../../src/history/thread-store.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { runTurn, startThread } from '../harness/turns.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

/** What every file below the folder holds, and when it was written last; the database's table of readers lives in memory. */
function contents(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name !== 'lock.mdb',
  );
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path, `${statSync(path).mtimeMs} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`];
    }),
  );
}

test('ten minutes with a hundred threads loaded and no client leave every file as it was (BC-19h)', async () => {
  const clock = new ManualClock();
  let history: LmdbHistory | undefined;
  const openHistory = async (options: LmdbHistoryOptions) => {
    history = await openLmdbHistory(options);
    return history;
  };
  const server = await startApp({ clock, openHistory });
  const client = await server.connect();
  const ids: string[] = [];
  for (let index = 0; index < 100; index += 1) ids.push(await startThread(client));
  expect((await runTurn(client, ids[0] as string, 'say hello')).status).toBe('completed');
  const { data } = await client.request('thread/loaded/list', { limit: 200 });
  expect(data).toHaveLength(100);
  client.wire.end();
  await client.wire.closed;
  // What was said is indexed behind the turn.
  const store = history?.forTenant('local') as RowThreadStore;
  await store.upkeep.indexed();
  await store.upkeep.worded();
  const before = contents(server.dataDirectory);
  const timers = clock.timers;
  for (let second = 0; second < 600; second += 1) {
    clock.advance(1000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(contents(server.dataDirectory)).toEqual(before);
  expect(clock.timers).toBeLessThanOrEqual(timers);
});
