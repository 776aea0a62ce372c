// The life of a thread beside its turns: names, archives, rollbacks, deletion, and threads that leave nothing behind.

import { afterEach, describe, expect, test } from 'vitest';
import { responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, runTurn, startThread, startTurn, text } from '../harness/turns.ts';

afterEach(cleanUp);

const idsOf = async (client: TestClient, params: object = {}): Promise<string[]> =>
  (await client.request('thread/list', params)).data.map((each: Received) => each.id);

test('a name is trimmed, told to everyone, kept, and lists the thread', async () => {
  const server = await startApp();
  const [client, other] = [await server.connect(), await server.connect()];
  const threadId = await startThread(client);
  expect(await idsOf(client)).toEqual([]);
  await client.request('thread/name/set', { threadId, name: '  my work ' });
  for (const each of [client, other]) {
    expect(await each.notified('thread/name/updated')).toEqual({ threadId, threadName: 'my work' });
  }
  expect((await client.refusal('thread/name/set', { threadId, name: '  ' })).code).toBe(-32602);
  await server.restart();
  const later = await server.connect();
  expect((await later.request('thread/list', {})).data).toMatchObject([{ id: threadId, name: 'my work' }]);
});

describe('archiving', () => {
  test('takes a thread out of the list and of use, and bringing it back undoes that', async () => {
    const server = await startApp();
    const [client, other] = [await server.connect(), await server.connect()];
    const threadId = await startThread(client);
    await runTurn(client, threadId, 'say one');
    await client.request('thread/archive', { threadId });
    for (const each of [client, other]) await each.notified('thread/archived', (news) => news.threadId === threadId);
    expect(await idsOf(client)).toEqual([]);
    expect(await idsOf(client, { archived: true })).toEqual([threadId]);
    expect((await client.refusal('thread/resume', { threadId })).code).toBe(-32009);
    expect((await client.refusal('turn/start', { threadId, input: text('say x') })).code).toBe(-32009);
    expect((await client.request('thread/read', { threadId, includeTurns: true })).thread.turns).toHaveLength(1);
    await server.restart();
    const later = await server.connect();
    expect(await idsOf(later, { archived: true })).toEqual([threadId]);
    expect((await later.request('thread/unarchive', { threadId })).thread.id).toBe(threadId);
    await later.notified('thread/unarchived');
    expect(await idsOf(later)).toEqual([threadId]);
    await later.request('thread/resume', { threadId });
    expect((await runTurn(later, threadId, 'say two')).status).toBe('completed');
    expect((await later.refusal('thread/unarchive', { threadId })).code).toBe(-32009);
  });

  test('of a thread whose turn runs stops the turn first', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    const turnId = await startTurn(client, threadId, 'hang');
    await client.notified('turn/started');
    await client.request('thread/archive', { threadId });
    expect((await completed(client, turnId)).status).toBe('interrupted');
    const { data } = await client.request('thread/turns/list', { threadId });
    expect(data).toMatchObject([{ id: turnId, status: 'interrupted' }]);
  });
});

describe('deletion', () => {
  test('takes everything, also from what is on disk, and the id can be used anew', async () => {
    const server = await startApp();
    const [client, other] = [await server.connect(), await server.connect()];
    const threadId = await startThread(client);
    await runTurn(client, threadId, 'say one');
    expect(await client.request('thread/delete', { threadId, dryRun: true })).toEqual({ threadIds: [threadId] });
    expect(await idsOf(client)).toEqual([threadId]);
    await client.request('thread/delete', { threadId });
    for (const each of [client, other]) await each.notified('thread/deleted', (news) => news.threadId === threadId);
    for (const method of ['thread/read', 'thread/resume', 'thread/delete', 'thread/turns/list'])
      expect((await client.refusal(method, { threadId })).code).toBe(-32004);
    await server.restart();
    const later = await server.connect();
    expect(await idsOf(later)).toEqual([]);
    await later.request('thread/start', { threadId });
    expect(await itemsOf(later, threadId)).toEqual([]);
  });

  test('of a thread whose turn runs stops the turn first', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    const turnId = await startTurn(client, threadId, 'hang');
    await client.notified('turn/started');
    await client.request('thread/delete', { threadId });
    expect((await completed(client, turnId)).status).toBe('interrupted');
    expect((await client.refusal('thread/read', { threadId })).code).toBe(-32004);
  });
});

describe('a rollback', () => {
  test('takes the newest turns out of view and out of the model, also after a restart', async () => {
    const model = await startModelServer(
      ...['A', 'B', 'C', 'D'].map((word) => stream(responses.say(`answer ${word}`))),
    );
    const server = await startApp({ backend: model });
    const client = await server.connect();
    const threadId = await startThread(client);
    for (const word of ['A', 'B', 'C']) await runTurn(client, threadId, `question ${word}`);
    const { thread } = await client.request('thread/rollback', { threadId, numTurns: 2 });
    expect(thread.turns).toHaveLength(1);
    await client.notified('thread/reverted');
    const seen = async (each: TestClient) => JSON.stringify(await itemsOf(each, threadId));
    expect(await seen(client)).toContain('answer A');
    expect(await seen(client)).not.toContain('answer B');
    await server.restart();
    const later = await server.connect();
    const resumed = await later.request('thread/resume', { threadId });
    expect(resumed.thread.turns).toHaveLength(1);
    expect(await seen(later)).not.toContain('answer C');
    await runTurn(later, threadId, 'question D');
    const input = JSON.stringify(model.requests[3]!.body.input);
    expect(input).toContain('answer A');
    expect(input).not.toMatch(/(question|answer) [BC]/);
    await model.close();
  });

  test('of more turns than there are takes all, and none is refused', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    await runTurn(client, threadId, 'say one');
    expect((await client.request('thread/rollback', { threadId, numTurns: 9 })).thread.turns).toEqual([]);
    expect((await client.refusal('thread/rollback', { threadId, numTurns: 0 })).code).toBe(-32602);
    expect((await runTurn(client, threadId, 'say two')).status).toBe('completed');
    expect((await client.request('thread/turns/list', { threadId })).data).toHaveLength(1);
  });

  test('of a running turn stops it first', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    const turnId = await startTurn(client, threadId, 'hang');
    await client.notified('turn/started');
    await client.request('thread/rollback', { threadId, numTurns: 1 });
    expect((await completed(client, turnId)).status).toBe('interrupted');
    expect((await client.request('thread/turns/list', { threadId })).data).toEqual([]);
  });
});

test('an ephemeral thread works like any other, is never listed, and leaves nothing behind', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client, { ephemeral: true });
  await runTurn(client, threadId, 'say one');
  expect((await itemsOf(client, threadId))[1]!.text).toBe('one');
  const { thread } = await client.request('thread/resume', { threadId });
  expect(thread).toMatchObject({ ephemeral: true });
  expect(await idsOf(client)).toEqual([]);
  expect((await client.request('thread/loaded/list', {})).data).toEqual([threadId]);
  for (const [method, params] of [
    ['thread/archive', {}],
    ['thread/name/set', { name: 'x' }],
  ] as const)
    expect((await client.refusal(method, { threadId, ...params })).code).toBe(-32602);
  await server.restart();
  const later = await server.connect();
  expect((await later.refusal('thread/read', { threadId })).code).toBe(-32004);
});

test('a resume with other settings is adopted by an idle thread, and refused by name while a turn runs', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client);
  const adopted = await client.request('thread/resume', { threadId, approvalPolicy: 'untrusted' });
  expect(adopted.approvalPolicy).toBe('untrusted');
  const turnId = await startTurn(client, threadId, 'hang');
  const error = await client.refusal('thread/resume', { threadId, approvalPolicy: 'never', model: 'other' });
  expect(error).toMatchObject({ code: -32009, data: { activeTurnId: turnId } });
  expect(error.data.notApplied.toSorted()).toEqual(['approvalPolicy', 'model']);
  expect((await client.request('thread/resume', { threadId })).approvalPolicy).toBe('untrusted');
  await client.request('turn/interrupt', { threadId, turnId });
});

test.each([
  ['thread/read', {}],
  ['thread/resume', {}],
  ['turn/start', { input: [] }],
  ['turn/steer', { expectedTurnId: 'x', input: text('x') }],
  ['turn/interrupt', { turnId: 'x' }],
  ['thread/archive', {}],
  ['thread/rollback', { numTurns: 1 }],
  ['thread/turns/list', {}],
  ['thread/items/list', {}],
])('%s of a thread that does not exist names it', async (method, params) => {
  const server = await startApp();
  const client = await server.connect();
  const error = await client.refusal(method, { threadId: 'no-such', ...params });
  expect(error).toMatchObject({ code: -32004, data: { kind: 'not_found', threadId: 'no-such' } });
  expect(error.message).toMatch(/thread not found/);
});
