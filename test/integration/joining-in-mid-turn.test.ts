// A client that joins while a turn streams: what it is shown at first and what it is told then are the whole thread, once.

import { afterEach, expect, test } from 'vitest';
import { once } from '../../src/base/lazy.ts';
import { deferred } from '../../src/base/signals.ts';
import { type LmdbHistoryOptions, openLmdbHistory } from '../../src/history/lmdb.ts';
import { fc } from '../harness/chance.ts';
import { type LiveAnswer, liveAnswer } from '../harness/live-answer.ts';
import { type ModelServer, responses, startModelServer } from '../harness/model-server.ts';
import { cleanUp, type RunningApp, startApp } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { completed, itemCompleted, itemsOf, startThread, startTurn, text } from '../harness/turns.ts';
import { withStore } from '../harness/with-store.ts';

afterEach(cleanUp);

const MESSAGES = 12;
const DELTAS = 40;

/** Speaks many messages of many deltas, as fast as it is listened to; `at` runs at one moment without being waited for. */
async function speak(answer: LiveAnswer, moment = -1, at: () => void = () => {}): Promise<void> {
  let written = 0;
  await answer.write(responses.created());
  for (let message = 0; message < MESSAGES; message += 1) {
    const deltas = Array.from({ length: DELTAS }, (_, delta) => `m${message}d${delta} `);
    const frames = responses.message(`msg_${message}`, deltas);
    for (let from = 0; from < frames.length; from += 5, written += 1) {
      if (written === moment) at();
      await answer.write(...frames.slice(from, from + 5));
    }
  }
  await answer.write(responses.completed());
}

async function aTurnThatStreams(): Promise<{ server: RunningApp; model: ModelServer; answer: LiveAnswer }> {
  const answer = liveAnswer();
  const model = await startModelServer(answer.step);
  return { server: await startApp({ backend: model }), model, answer };
}

/** The items that a client knows of: those of its snapshot, then those it was told of. */
function known(client: TestClient, snapshot: Received): Map<string, Received> {
  const items = new Map<string, Received>();
  const shown = snapshot.thread.turns.flatMap((turn: Received) => turn.items);
  for (const item of [...shown, ...client.news('item/completed').map((each) => each.item)]) {
    expect(items.has(item.id), `${item.id} twice`).toBe(false);
    items.set(item.id, item);
  }
  return items;
}

test('a snapshot and what follows it are the whole thread, whenever a client joins', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: MESSAGES * 8 }), async (moment) => {
      const { server, model, answer } = await aTurnThatStreams();
      const first = await server.connect();
      const threadId = await startThread(first);
      const turnId = await startTurn(first, threadId, 'speak');
      const second = await server.connect();
      let resumed = 0;
      await speak(answer, moment, () => {
        resumed = second.post('thread/resume', { threadId });
      });
      const snapshot = await second.answerTo(resumed);
      await completed(first, turnId);
      if (snapshot.thread.status.type === 'active') await completed(second, turnId);
      const items = await itemsOf(first, threadId);
      expect(items).toHaveLength(MESSAGES + 1);
      const seen = known(second, snapshot);
      expect([...seen.values()]).toEqual(items);
      const behind = (each: Received) => each.seq !== undefined && each.seq > snapshot.headSeq;
      const told = (client: TestClient) => client.notifications().filter(behind);
      const whole = (each: Received) => each.method !== 'item/agentMessage/delta';
      expect(told(second).filter(whole)).toEqual(told(first).filter(whole));
      const words = (client: TestClient) =>
        told(client)
          .filter((each) => !whole(each))
          .map((each) => each.params.delta)
          .join('');
      expect(words(second)).toBe(words(first));
      await server.close();
      await model.close();
    }),
    { numRuns: 25, endOnFailure: true },
  );
});

/** The history of a server on which something may happen around each read of a whole thread. */
function aHistoryThatIsWatched(around: (real: () => Promise<unknown>) => Promise<unknown>) {
  return async (options: LmdbHistoryOptions) =>
    withStore(await openLmdbHistory(options), {
      turns(store, id, query) {
        const isWhole = query.limit === 100 && query.from === undefined;
        const real = () => store.turns(id, query);
        return (isWhole ? around(real) : real()) as ReturnType<typeof real>;
      },
    });
}

test('clients join a thread that changes each time it is read, and know everything once', async () => {
  const plans = fc.array(fc.boolean(), { minLength: 4, maxLength: 9 });
  await fc.assert(
    fc.asyncProperty(plans, fc.integer({ min: 1, max: 3 }), async (plan, clients) => {
      const answer = liveAnswer();
      const model = await startModelServer(answer.step);
      let said = 0;
      let reads = Number.POSITIVE_INFINITY;
      // From a number of reads on nothing more comes to the disk while the thread is read: nobody may wait for that then.
      const say = async () => {
        const word = `word ${said++}`;
        const whole = itemCompleted(first, (item) => item.text === word);
        await answer.write(...responses.message(`msg_${said}`, [word]));
        if (reads < 4) await whole;
        else whole.catch(() => {});
      };
      const openHistory = aHistoryThatIsWatched(async (real) => {
        const isBefore = plan[reads];
        if (isBefore === undefined) return real();
        if (isBefore) await say();
        const page = await real();
        if (!isBefore) await say();
        reads += 1;
        return page;
      });
      const server = await startApp({ backend: model, openHistory });
      const first = await server.connect();
      const threadId = await startThread(first);
      const turnId = await startTurn(first, threadId, 'speak');
      await answer.write(responses.created());
      const joined: { client: TestClient; snapshot: Received }[] = [];
      for (let count = 0; count < clients; count += 1) {
        reads = 0;
        const client = await server.connect();
        joined.push({ client, snapshot: await client.request('thread/resume', { threadId }) });
        reads = Number.POSITIVE_INFINITY;
      }
      await say();
      await answer.write(responses.completed());
      await completed(first, turnId);
      const items = await itemsOf(first, threadId);
      expect(items).toHaveLength(said + 1);
      for (const { client, snapshot } of joined) {
        await completed(client, turnId);
        expect([...known(client, snapshot).values()]).toEqual(items);
        const seqs = client.notifications().flatMap(({ seq }) => (seq === undefined ? [] : [seq]));
        expect(Math.min(...seqs)).toBeGreaterThan(snapshot.headSeq);
      }
      await server.close();
      await model.close();
    }),
    { numRuns: 12, endOnFailure: true },
  );
});

test('of two turns that are started at once one runs, and the other is refused with the one that runs', async () => {
  const { server, model, answer } = await aTurnThatStreams();
  const [first, second] = [await server.connect(), await server.connect()];
  const threadId = await startThread(first);
  await second.request('thread/resume', { threadId });
  const starts = [first, second].map((client) => ({
    client,
    id: client.post('turn/start', { threadId, input: text('me') }),
  }));
  const outcomes = await Promise.allSettled(starts.map(({ client, id }) => client.answerTo(id)));
  const won = outcomes.filter((each) => each.status === 'fulfilled');
  const lost = outcomes.filter((each) => each.status === 'rejected');
  expect([won.length, lost.length]).toEqual([1, 1]);
  const turnId = won[0]!.value.turn.id;
  expect(lost[0]!.reason).toMatchObject({ code: -32009, data: { threadId, activeTurnId: turnId } });
  await speak(answer);
  for (const client of [first, second]) {
    await completed(client, turnId);
    expect(client.news('turn/started')).toHaveLength(1);
    for (const each of client.notifications().filter(({ method }) => /^(item|turn)\//.test(method))) {
      expect(each.params.threadId).toBe(threadId);
      expect(each.params.turnId ?? each.params.turn.id).toBe(turnId);
    }
  }
  await model.close();
});

test('where the operator wants that, the second start steers the turn, and everyone sees its words', async () => {
  const answer = liveAnswer();
  const again = liveAnswer();
  const model = await startModelServer(answer.step, again.step);
  const server = await startApp({ backend: model, config: { busy_turn_start: 'steer' } });
  const [first, second] = [await server.connect(), await server.connect()];
  const threadId = await startThread(first);
  await second.request('thread/resume', { threadId });
  const turnId = await startTurn(first, threadId, 'begin');
  await answer.begin();
  const { turn } = await second.request('turn/start', { threadId, input: text('and this') });
  expect(turn.id).toBe(turnId);
  await answer.finish();
  await again.begin('msg_2');
  await again.say('both');
  await again.finish();
  await completed(first, turnId);
  const words = (await itemsOf(first, threadId)).filter((each) => each.type === 'userMessage');
  expect(words.map((each) => each.content[0].text)).toEqual(['begin', 'and this']);
  expect(first.news('item/completed').map(({ item }) => item.content?.[0]?.text)).toContain('and this');
  expect(JSON.stringify(model.requests[1]!.body)).toContain('and this');
  await model.close();
});

test('a request may choose what a busy thread does with its start', async () => {
  const { server, model, answer } = await aTurnThatStreams();
  const client = await server.connect();
  const threadId = await startThread(client);
  const turnId = await startTurn(client, threadId, 'begin');
  await answer.begin();
  const input = text('more');
  const refused = await client.refusal('turn/start', { threadId, input, ifBusy: 'reject' });
  expect(refused.message).toContain('thread already has an active turn');
  const { turn } = await client.request('turn/start', { threadId, input, ifBusy: 'steer' });
  expect(turn.id).toBe(turnId);
  await client.request('turn/interrupt', { threadId, turnId });
  await completed(client, turnId);
  await model.close();
});

test('an item that completes while a snapshot is read is neither missed nor shown twice', async () => {
  const answer = liveAnswer();
  const model = await startModelServer(answer.step);
  const duringRead = deferred<() => Promise<unknown>>();
  const openHistory = async (options: LmdbHistoryOptions) => {
    const history = await openLmdbHistory(options);
    return withStore(history, {
      async items(store, id, query) {
        const page = await store.items(id, query);
        await (await duringRead.promise)();
        return page;
      },
    });
  };
  const server = await startApp({ backend: model, openHistory });
  const [first, second] = [await server.connect(), await server.connect()];
  const threadId = await startThread(first);
  const turnId = await startTurn(first, threadId, 'speak');
  await answer.begin('msg_1');
  await answer.say('hello');
  await first.notified('item/agentMessage/delta');
  const finished = once(async () => {
    await answer.finish();
    await completed(first, turnId);
  });
  duringRead.resolve(finished);
  const snapshot = await second.request('thread/resume', { threadId });
  await second.settled();
  const items = [...known(second, snapshot).values()];
  expect(items.map(({ type }) => type)).toEqual(['userMessage', 'agentMessage']);
  expect(items[1]!.text).toBe('hello');
  await model.close();
});
