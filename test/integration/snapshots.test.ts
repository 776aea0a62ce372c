// Answers that show one thread: each says up to which event it is true, and what came later is told behind that, once.

import { afterEach, describe, expect, test } from 'vitest';
import { deferred } from '../../src/base/signals.ts';
import { openLmdbHistory } from '../../src/history/lmdb.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { runTurn, startThread, startTurn } from '../harness/turns.ts';
import { withStore } from '../harness/with-store.ts';

afterEach(cleanUp);

const eventsAfter = async (client: TestClient, threadId: string, afterEventSeq: number): Promise<Received[]> =>
  (await client.request('thread/read', { threadId, afterEventSeq, limit: 1000 })).events;
const placed = (client: TestClient): Received[] => client.notifications().filter((each) => each.seq !== undefined);
const isDelta = ({ method }: Received): boolean => /[dD]elta$/.test(method);

const newest = async (client: TestClient, threadId: string): Promise<string> =>
  (await client.request('thread/turns/list', { threadId, limit: 1 })).data[0].id;

/** Asked of a thread with two turns; those that change it are asked of one of its own. */
const ASKED: Readonly<Record<string, (client: TestClient, threadId: string) => Promise<Received>>> = {
  'thread/start': (client) => client.request('thread/start', { title: 'new' }),
  'thread/fork': (client, threadId) => client.request('thread/fork', { threadId }),
  'thread/read': (client, threadId) => client.request('thread/read', { threadId, includeTurns: true }),
  'thread/resume': (client, threadId) => client.request('thread/resume', { threadId }),
  'thread/rollback': (client, threadId) => client.request('thread/rollback', { threadId, numTurns: 1 }),
  'thread/revert': async (client, threadId) =>
    client.request('thread/revert', { threadId, beforeTurnId: await newest(client, threadId) }),
  'thread/metadata/update': (client, threadId) =>
    client.request('thread/metadata/update', { threadId, gitInfo: { branch: 'main' } }),
  'thread/unarchive': async (client, threadId) => {
    await client.request('thread/archive', { threadId });
    return client.request('thread/unarchive', { threadId });
  },
};

describe('the number in an answer that shows a thread', () => {
  test.each(Object.keys(ASKED))('%s: everything later lies behind it', async (method) => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    await runTurn(client, threadId, 'say one');
    await runTurn(client, threadId, 'say two');
    const { thread, headSeq } = await ASKED[method]!(client, threadId);
    const { id } = thread;
    expect(headSeq).toBe((await client.request('thread/read', { threadId: id })).headSeq);
    expect(await eventsAfter(client, id, headSeq)).toEqual([]);
    await client.request('thread/resume', { threadId: id, afterEventSeq: headSeq });
    await client.request('thread/name/set', { threadId: id, name: 'later' });
    await runTurn(client, id, 'say three');
    const told = placed(client).filter((each) => each.params.threadId === id && each.seq > headSeq && !isDelta(each));
    expect(told[0]?.method).toBe('thread/name/updated');
    const plain = ({ seq, method: name, params, emittedAtMs }: Received) => ({
      seq,
      method: name,
      params,
      emittedAtMs,
    });
    expect((await eventsAfter(client, id, headSeq)).filter((each) => !isDelta(each))).toEqual(told.map(plain));
  });

  test('is that of the whole reading, also where a commit is on disk and has not been shown', async () => {
    const [reached, gate] = [deferred(), deferred()];
    let [isArmed, reads] = [false, 0];
    const read = deferred();
    const server = await startApp({
      openHistory: async (options) =>
        withStore(await openLmdbHistory(options), {
          append: async (store, id, expected, events, once) => {
            const head = await store.append(id, expected, events, once);
            const isEnd = events.some(
              ({ event }) => event.type === 'itemCompleted' && event.item.type === 'agentMessage',
            );
            if (isArmed && isEnd) {
              reached.resolve();
              await gate.promise;
            }
            return head;
          },
          items: (store, ...query) => {
            reads += 1;
            if (reads === 2) read.resolve();
            return store.items(...query);
          },
        }),
    });
    const client = await server.connect();
    const threadId = await startThread(client);
    isArmed = true;
    const turnId = await startTurn(client, threadId, 'say one');
    await reached.promise;
    const reading = client.request('thread/read', { threadId, includeTurns: true });
    // The end of the turn is read, and nobody has been told of it: the answer waits.
    reads = 1;
    await read.promise;
    gate.resolve();
    const { thread, headSeq } = await reading;
    await client.notified('turn/completed', ({ turn }) => turn.id === turnId);
    const shown = thread.turns.flatMap((turn: Received) => turn.items.map((item: Received) => item.id));
    const later = (await eventsAfter(client, threadId, headSeq))
      .filter(({ method }) => method === 'item/completed')
      .map(({ params }) => params.item.id);
    expect(shown.filter((id: string) => later.includes(id))).toEqual([]);
    expect(new Set([...shown, ...later]).size).toBe(2);
  });
});

test('who repeats a start is told what its old answer does not show', async () => {
  const server = await startApp();
  const [first, second] = [await server.connect(), await server.connect()];
  const params = { idempotencyKey: 'k', title: 'mine' };
  const started = await first.request('thread/start', params);
  const threadId = started.thread.id;
  await first.request('thread/name/set', { threadId, name: 'other' });
  const again = await second.request('thread/start', params);
  expect(again).toEqual(started);
  const told = await second.message((each) => each.method === 'thread/name/updated' && each.seq !== undefined);
  expect(told.seq).toBeGreaterThan(again.headSeq);
});
