// A turn belongs to the thread: it goes on when its clients leave.

import { afterEach, expect, test } from 'vitest';
import { liveAnswer } from '../harness/live-answer.ts';
import { startModelServer } from '../harness/model-server.ts';
import { cleanUp, startApp, TRANSPORTS } from '../harness/start-app.ts';
import { itemsOf, startThread, startTurn } from '../harness/turns.ts';
import { eventually } from '../unit/children/waiting.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

test.each(TRANSPORTS)('a turn ends well with nobody connected over %s', async (transport) => {
  const answer = liveAnswer();
  const model = await startModelServer(answer.step);
  const server = await startApp({ backend: model, transport });
  const client = await server.connect();
  const threadId = await startThread(client);
  await startTurn(client, threadId, 'go on');
  await answer.begin();
  await answer.say('one ');
  await client.notified('item/agentMessage/delta');
  client.wire.cut();
  await answer.say('two ', 'three');
  await answer.finish();
  const later = await server.connect();
  const { thread } = await later.request('thread/resume', { threadId });
  if (thread.status.type === 'active') await later.notified('turn/completed');
  const { data } = await later.request('thread/turns/list', { threadId });
  expect(data[0].status).toBe('completed');
  expect((await itemsOf(later, threadId))[1]!.text).toBe('one two three');
  await model.close();
});

test('all lines of a command are there although nobody listened', async () => {
  const server = await startApp();
  const [client, watcher] = [await server.connect(), await server.connect()];
  const threadId = await startThread(client, { sandbox: 'danger-full-access' });
  await startTurn(client, threadId, 'run for n in 1 2 3 4 5 6 7 8 9 10; do echo line $n; sleep 0.02; done');
  await client.notified('item/commandExecution/outputDelta');
  client.wire.cut();
  await watcher.notified('thread/status/changed', ({ status }) => status.type === 'idle');
  const command = (await itemsOf(watcher, threadId)).find(({ type }) => type === 'commandExecution');
  const lines = Array.from({ length: 10 }, (_, index) => `line ${index + 1}\n`);
  expect(command).toMatchObject({ status: 'completed', exitCode: 0, aggregatedOutput: lines.join('') });
});

test('a thread that nobody listens to is unloaded when its time is over, but not while its turn runs', async () => {
  const clock = new ManualClock();
  const answer = liveAnswer();
  const model = await startModelServer(answer.step);
  const server = await startApp({ backend: model, clock, config: { idle_unload_seconds: 60 } });
  const [client, watcher] = [await server.connect(), await server.connect()];
  const threadId = await startThread(client);
  await startTurn(client, threadId, 'go on');
  await answer.begin();
  client.wire.end();
  await client.wire.closed;
  await watcher.settled();
  for (let minute = 0; minute < 5; minute += 1) clock.advance(60_000);
  expect((await watcher.request('thread/loaded/list', {})).data).toEqual([threadId]);
  await answer.finish();
  await watcher.notified('thread/status/changed', ({ status }) => status.type === 'idle');
  await eventually('the end of its time', () => {
    clock.advance(60_000);
    return watcher.news('thread/closed').some((each) => each.threadId === threadId);
  });
  expect((await watcher.request('thread/loaded/list', {})).data).toEqual([]);
  const { thread } = await watcher.request('thread/read', { threadId });
  expect(thread.status).toEqual({ type: 'notLoaded' });
  expect((await watcher.request('thread/resume', { threadId })).thread.status).toEqual({ type: 'idle' });
  await model.close();
});

test('a thread with a listener stays loaded', async () => {
  const clock = new ManualClock();
  const server = await startApp({ clock, config: { idle_unload_seconds: 60 } });
  const client = await server.connect();
  const threadId = await startThread(client);
  clock.advance(600_000);
  expect((await client.request('thread/loaded/list', {})).data).toEqual([threadId]);
  expect(await client.request('thread/unsubscribe', { threadId })).toEqual({ status: 'unsubscribed' });
  expect(await client.request('thread/unsubscribe', { threadId })).toEqual({ status: 'notSubscribed' });
  await eventually('the end of its time', () => {
    clock.advance(60_000);
    return client.news('thread/closed').length > 0;
  });
  expect(await client.request('thread/unsubscribe', { threadId })).toEqual({ status: 'notLoaded' });
});

test('a thread with a standing question stays loaded', async () => {
  const clock = new ManualClock();
  const server = await startApp({ clock, config: { idle_unload_seconds: 60 } });
  const [client, watcher] = [await server.connect(), await server.connect()];
  const threadId = await startThread(client);
  await startTurn(client, threadId, 'run! echo x');
  await client.asked();
  client.wire.end();
  await client.wire.closed;
  for (let minute = 0; minute < 5; minute += 1) clock.advance(60_000);
  expect((await watcher.request('thread/loaded/list', {})).data).toEqual([threadId]);
});
