// A store that fails while threads are looked for or loaded takes neither the server nor its polite end with it.

import { afterEach, expect, test } from 'vitest';
import { localPrincipal } from '../../src/auth/principal.ts';
import { AppError } from '../../src/base/errors.ts';
import { deferred } from '../../src/base/signals.ts';
import { type LmdbHistoryOptions, openLmdbHistory } from '../../src/history/lmdb.ts';
import type { ThreadMeta } from '../../src/model/thread.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { runTurn, startThread } from '../harness/turns.ts';
import { withStore } from '../harness/with-store.ts';

afterEach(cleanUp);

test('open turns that cannot be looked for are looked for again when the next client comes', async () => {
  let looks = 0;
  const openHistory = async (options: LmdbHistoryOptions) =>
    withStore(await openLmdbHistory(options), {
      openTurns: async (store) => {
        looks += 1;
        if (looks === 2) throw new AppError('unavailable', 'the disk does not answer');
        return store.openTurns();
      },
    });
  const server = await startApp({ openHistory });
  const stranger = { ...localPrincipal, tenant: 'another' };
  const first = await server.connectAs(stranger);
  expect((await runTurn(first, await startThread(first), 'say x')).status).toBe('completed');
  expect(looks).toBe(2);
  const second = await server.connectAs(stranger);
  await second.settled();
  expect(looks).toBe(3);
});

test('a thread that fails to load during the stop does not keep the server from ending', async () => {
  const [entered, gate] = [deferred(), deferred<ThreadMeta>()];
  let isArmed = false;
  const openHistory = async (options: LmdbHistoryOptions) =>
    withStore(await openLmdbHistory(options), {
      meta: (store, id) => {
        if (!isArmed) return store.meta(id);
        entered.resolve();
        return gate.promise;
      },
    });
  const server = await startApp({ openHistory });
  const threadId = await startThread(await server.connect());
  await server.restart();
  const client = await server.connect();
  isArmed = true;
  client.post('thread/resume', { threadId });
  await entered.promise;
  const closing = server.close();
  gate.reject(new AppError('unavailable', 'the disk does not answer'));
  await closing;
  const next = await startApp({ dataDirectory: server.dataDirectory });
  const later = await next.connect();
  expect((await later.request('thread/read', { threadId })).thread.id).toBe(threadId);
});
