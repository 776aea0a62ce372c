// What a compaction and a rollback leave alone: everything that people were shown, and every record before them.

import { afterEach, expect, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { openLmdbHistory } from '../../src/history/lmdb.ts';
import { verifyHistory } from '../../src/history/verify.ts';
import { liveAnswer } from '../harness/live-answer.ts';
import { type ModelServer, responses, type Step, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, copyAtRest, startApp, temporaryFolder } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, runTurn, startThread, startTurn } from '../harness/turns.ts';
import { withStore } from '../harness/with-store.ts';

afterEach(cleanUp);

const say = (...words: string[]): Step => stream(responses.say(...words));
const inputOf = (model: ModelServer, request = -1) => JSON.stringify(model.requests.at(request)!.body.input);

async function compact(client: TestClient, threadId: string): Promise<void> {
  const known = client.news('turn/completed').length;
  await client.request('thread/compact/start', { threadId });
  await client.message(() => client.news('turn/completed').length > known, 'the end of the compaction');
}

async function eventsUpTo(client: TestClient, threadId: string, last: number): Promise<Received[]> {
  const events: Received[] = [];
  for (let after = 0; after < last; ) {
    const page = await client.request('thread/read', { threadId, afterEventSeq: after, limit: 1000 });
    events.push(...page.events.filter(({ seq }: Received) => seq <= last));
    after = page.nextSeq;
  }
  return events;
}

test('thirty turns, compactions at 10 and 25, a rollback of two and a restart', async () => {
  const live = liveAnswer();
  const steps = Array.from({ length: 40 }, (_, index) => say(`answer-${index + 1}.`));
  const model = await startModelServer(...steps.toSpliced(25, 0, live.step));
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client);
  let before: Received[] = [];
  let head = 0;
  for (let turn = 1; turn <= 30; turn += 1) {
    if (turn === 25) {
      const turnId = await startTurn(client, threadId, `turn-${turn}.`);
      await live.begin();
      // Within a turn the view belongs to that turn.
      expect((await client.refusal('thread/compact/start', { threadId })).code).toBe(-32009);
      await live.say('answer of turn 25');
      await live.finish();
      await completed(client, turnId);
    } else await runTurn(client, threadId, `turn-${turn}.`);
    if (turn !== 10 && turn !== 25) continue;
    head = (await client.request('thread/read', { threadId })).headSeq;
    before = await eventsUpTo(client, threadId, head);
    await compact(client, threadId);
    expect(await eventsUpTo(client, threadId, head)).toEqual(before);
  }
  const shown = await itemsOf(client, threadId);
  const { headSeq } = await client.request('thread/read', { threadId });
  await client.request('thread/rollback', { threadId, numTurns: 2 });
  await server.restart();
  const later = await server.connect();
  const { thread } = await later.request('thread/resume', { threadId });
  // Thirty turns and two that compact, less two.
  expect(thread.turns).toHaveLength(30);
  expect(await itemsOf(later, threadId)).toEqual(shown.slice(0, -4));
  expect(await eventsUpTo(later, threadId, head)).toEqual(before);
  const dropped = JSON.stringify(await eventsUpTo(later, threadId, headSeq));
  for (const words of ['turn-29.', 'turn-30.']) expect(dropped).toContain(words);
  await runTurn(later, threadId, 'next');
  for (const words of ['turn-29.', 'turn-30.']) expect(inputOf(model)).not.toContain(words);
  for (const words of ['turn-1.', 'turn-28.', 'next']) expect(inputOf(model)).toContain(words);
  await server.close();
  expect((await verifyHistory(server.dataDirectory)).damages).toEqual([]);
  await model.close();
});

test('a kill between any two records of a compaction leaves the old view or the new one, and all that was shown', async () => {
  const model = await startModelServer(say('first answer'), say('second answer'), say('THE SUMMARY'));
  const copies: string[] = [];
  let isCompacting = false;
  const copied = async () => {
    if (!isCompacting) return;
    const copy = await temporaryFolder();
    await copyAtRest(server.dataDirectory, copy);
    copies.push(copy);
  };
  const openHistory: NonNullable<Parameters<typeof startApp>[0]>['openHistory'] = async (options) => {
    const history = await openLmdbHistory(options);
    return withStore(history, {
      async append(store, ...args) {
        const head = await store.append(...args);
        await copied();
        return head;
      },
    });
  };
  const server = await startApp({ backend: model, openHistory, log: silentLog() });
  const client = await server.connect();
  const threadId = await startThread(client);
  await runTurn(client, threadId, 'first words');
  await runTurn(client, threadId, 'second words');
  const shown = await itemsOf(client, threadId);
  isCompacting = true;
  await copied();
  await compact(client, threadId);
  isCompacting = false;
  expect(copies.length).toBeGreaterThan(3);
  let summaries = 0;
  for (const dataDirectory of copies) {
    model.script(say('after the kill'));
    const again = await startApp({ backend: model, dataDirectory });
    const reader = await again.connect();
    await reader.request('thread/resume', { threadId });
    expect((await itemsOf(reader, threadId)).slice(0, shown.length)).toEqual(shown);
    expect((await runTurn(reader, threadId, 'go on')).status).toBe('completed');
    const input = inputOf(model);
    for (const words of ['first words', 'second words', 'go on']) expect(input).toContain(words);
    const hasSummary = input.includes('THE SUMMARY');
    if (hasSummary) summaries += 1;
    expect(input.includes('first answer')).toBe(!hasSummary);
    await again.close();
    expect((await verifyHistory(dataDirectory)).damages).toEqual([]);
  }
  expect(summaries).toBeGreaterThan(0);
  expect(summaries).toBeLessThan(copies.length);
  await model.close();
});
