// A store that refuses: a clean error, nothing acknowledged that is not on disk, and the thread works again when the store does.

import { afterEach, expect, test } from 'vitest';
import { fullDisk } from '../harness/full-disk.ts';
import { liveAnswer } from '../harness/live-answer.ts';
import { responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, itemsOf, runTurn, startThread, startTurn, text } from '../harness/turns.ts';

afterEach(cleanUp);

test('a turn that cannot be stored is refused, does not run, and can be started later', async () => {
  const { disk, openHistory } = fullDisk();
  const server = await startApp({ openHistory });
  const client = await server.connect();
  const threadId = await startThread(client);
  const { headSeq } = await client.request('thread/read', { threadId });
  disk.isFull = true;
  const error = await client.refusal('turn/start', { threadId, input: text('say one') });
  expect(error).toMatchObject({ code: -32603, data: { kind: 'unavailable', retryable: true } });
  expect(error.message).toContain('the disk is full');
  expect((await client.request('thread/read', { threadId })).headSeq).toBe(headSeq);
  expect(client.news('turn/started')).toEqual([]);
  // Whoever listened learns that nothing more comes before it resumes.
  await client.notified('thread/closed', (news) => news.threadId === threadId);
  disk.isFull = false;
  await client.request('thread/resume', { threadId });
  expect((await runTurn(client, threadId, 'say one')).status).toBe('completed');
  expect(await itemsOf(client, threadId)).toHaveLength(2);
});

test('a key whose effect could not be stored is free', async () => {
  const { disk, openHistory } = fullDisk();
  const server = await startApp({ openHistory });
  const client = await server.connect();
  const threadId = await startThread(client);
  const params = { threadId, name: 'kept', idempotencyKey: 'k' };
  disk.isFull = true;
  await client.refusal('thread/name/set', params);
  disk.isFull = false;
  await client.request('thread/name/set', params);
  expect((await client.request('thread/read', { threadId })).thread.name).toBe('kept');
});

test('a turn whose store fails on the way stops; what was shown is there, and the thread goes on', async () => {
  const { disk, openHistory } = fullDisk();
  const answer = liveAnswer();
  const model = await startModelServer(answer.step, stream(responses.say('back')));
  const server = await startApp({ backend: model, openHistory });
  const client = await server.connect();
  const threadId = await startThread(client);
  const turnId = await startTurn(client, threadId, 'speak');
  await answer.begin();
  await answer.say('shown ');
  await client.notified('item/agentMessage/delta');
  disk.isFull = true;
  await answer.say('lost');
  await answer.letGo;
  expect(client.news('item/agentMessage/delta').map(({ delta }) => delta)).toEqual(['shown ']);
  disk.isFull = false;
  await client.request('thread/resume', { threadId });
  const { data } = await client.request('thread/turns/list', { threadId });
  expect(data).toMatchObject([{ id: turnId, status: 'interrupted' }]);
  expect((await itemsOf(client, threadId))[1]!.text).toBe('shown ');
  const next = await startTurn(client, threadId, 'again');
  expect((await completed(client, next)).status).toBe('completed');
  await model.close();
});
