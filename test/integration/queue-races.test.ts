// Input that waits, while the queue, the thread and what runs change around it: each input runs once, or not at all.

import { afterEach, expect, test } from 'vitest';
import { deferred } from '../../src/base/signals.ts';
import { responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, runTurn, startThread, text } from '../harness/turns.ts';

afterEach(cleanUp);

const EXPERIMENTAL = { experimentalApi: true };

/** Texts of the user in the thread, once nothing waits or runs any more. */
async function saidWhenQuiet(client: TestClient, threadId: string): Promise<string[]> {
  for (;;) {
    const ended = client.news('turn/completed').length;
    const { thread } = await client.request('thread/read', { threadId });
    const { data } = await client.request('thread/queue/list', { threadId });
    if (data.length === 0 && thread.status.type === 'idle') break;
    await client.message(() => client.news('turn/completed').length > ended, 'the end of a turn');
  }
  const items = await itemsOf(client, threadId);
  return items.filter(({ type }) => type === 'userMessage').map(({ content }) => content[0].text);
}

const add = (client: TestClient, threadId: string, words: string): number =>
  client.post('thread/queue/add', { threadId, input: text(words), clientUserMessageId: words });

test('input that is added while others begin runs once each, in order', async () => {
  const server = await startApp();
  const client = await server.connect(EXPERIMENTAL);
  const threadId = await startThread(client);
  const wanted = Array.from({ length: 200 }, (_, index) => `say ${index}`);
  for (const words of wanted) {
    const answer = client.answerTo(add(client, threadId, words)).catch((error: unknown) => error);
    if (wanted.indexOf(words) % 50 === 49) await answer;
  }
  const said = await saidWhenQuiet(client, threadId);
  expect(new Set(said).size).toBe(said.length);
  expect(said).toEqual(wanted.filter((words) => said.includes(words)));
  expect(said.length).toBeGreaterThan(50);
});

test('input whose deletion was acknowledged does not run', async () => {
  const server = await startApp();
  const client = await server.connect(EXPERIMENTAL);
  const threadId = await startThread(client);
  const deleted: string[] = [];
  for (let index = 0; index < 60; index += 1) {
    await client.answerTo(add(client, threadId, `say first-${index}`));
    const { queuedSubmission } = await client.answerTo(add(client, threadId, `say ${index}`));
    const answer = await client.request('thread/queue/delete', { threadId, queuedSubmissionId: queuedSubmission.id });
    if (answer.deleted) deleted.push(`say ${index}`);
  }
  const said = await saidWhenQuiet(client, threadId);
  expect(said.filter((words) => deleted.includes(words))).toEqual([]);
  expect(said).toHaveLength(120 - deleted.length);
});

test('what waits does not begin in a thread that is being rolled back or archived', async () => {
  const server = await startApp();
  const client = await server.connect(EXPERIMENTAL);
  for (let round = 0; round < 15; round += 1) {
    const threadId = await startThread(client);
    await runTurn(client, threadId, 'say one');
    for (const words of ['say two', 'say three', 'say four']) await client.answerTo(add(client, threadId, words));
    const method = round % 3 === 0 ? 'thread/archive' : 'thread/rollback';
    await client.request(method, { threadId, ...(method === 'thread/rollback' ? { numTurns: 1 } : {}) });
    const ended = client.transcript.length;
    await client.settled();
    const late = client.transcript.slice(ended).filter(({ params }) => params?.threadId === threadId);
    expect(late.filter(({ method: told }) => told === 'item/started' || told === 'turn/started')).toEqual([]);
  }
});

test('nothing is added to the queue of an archived thread', async () => {
  const server = await startApp();
  const client = await server.connect(EXPERIMENTAL);
  const threadId = await startThread(client);
  await runTurn(client, threadId, 'say one');
  await client.request('thread/archive', { threadId });
  const wish = { threadId, input: text('say two'), clientUserMessageId: 'm' };
  expect(await client.refusal('thread/queue/add', wish)).toMatchObject({ code: -32009 });
  expect(await itemsOf(client, threadId)).toHaveLength(2);
});

test('what is put into the view of the model while it is compacted is refused, not lost', async () => {
  const goOn = deferred();
  const model = await startModelServer(stream(responses.say('one')), async (response, request) => {
    await goOn.promise;
    await stream(responses.say('SUMMARY'))(response, request);
  });
  const server = await startApp({ backend: model });
  const client = await server.connect(EXPERIMENTAL);
  const threadId = await startThread(client);
  await runTurn(client, threadId, 'hello');
  await client.request('thread/compact/start', { threadId });
  await model.received(2);
  const items = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'injected' }] }];
  expect(await client.refusal('thread/inject_items', { threadId, items })).toMatchObject({ code: -32009 });
  goOn.resolve();
  await completed(client, client.news('turn/started').at(-1)!.turn.id);
  await client.request('thread/inject_items', { threadId, items });
  await model.close();
});
