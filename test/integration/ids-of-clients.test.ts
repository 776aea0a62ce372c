// Ids that clients choose: each names one thread or turn, for ever, wherever the thread lives.

import { afterEach, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, itemsOf, runTurn, startThread, startTurn, text } from '../harness/turns.ts';

afterEach(cleanUp);

test.each([
  ['a kept thread', {}],
  ['a thread in memory', { ephemeral: true }],
])('the id of %s is taken for every other, which it does not hide', async (_, first) => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = 'mine';
  await startThread(client, { threadId, ...first });
  await runTurn(client, threadId, 'say first');
  const source = await startThread(client);
  for (const params of [{}, { ephemeral: true }]) {
    const refused = { code: -32009, data: { kind: 'exists', threadId } };
    expect(await client.refusal('thread/start', { threadId, ...params })).toMatchObject(refused);
  }
  expect((await itemsOf(client, threadId))[1]!.text).toBe('first');
  await runTurn(client, source, 'say second');
  expect((await itemsOf(client, threadId)).length).toBe(2);
});

test('of threads that are begun at once under one id there is one, and it works', async () => {
  const server = await startApp();
  const clients = await Promise.all(Array.from({ length: 4 }, () => server.connect()));
  const outcomes = await Promise.allSettled(
    clients.map((client, index) => client.request('thread/start', { threadId: 'one', ephemeral: index % 2 === 0 })),
  );
  const won = outcomes.findIndex(({ status }) => status === 'fulfilled');
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const client = clients[won]!;
  const turnId = await startTurn(client, 'one', 'say alive');
  expect((await completed(client, turnId)).status).toBe('completed');
});

test('the id of a turn is not used again, also not after a restart', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client);
  await runTurn(client, threadId, 'say one', { turnId: 'first' });
  const again = { threadId, input: text('say two'), turnId: 'first' };
  const refused = { code: -32009, data: { kind: 'exists', turnId: 'first' } };
  expect(await client.refusal('turn/start', again)).toMatchObject(refused);
  await server.restart();
  const later = await server.connect();
  await later.request('thread/resume', { threadId });
  expect(await later.refusal('turn/start', again)).toMatchObject(refused);
  expect((await runTurn(later, threadId, 'say two', { turnId: 'second' })).id).toBe('second');
  expect(await itemsOf(later, threadId)).toHaveLength(4);
});
