// A mutation that is sent again has its effect once and the same answer, also after a restart; with other params it is refused.

import { afterEach, describe, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, itemsOf, runTurn, startThread, text } from '../harness/turns.ts';

afterEach(cleanUp);

const KEY = { idempotencyKey: 'the key' };

describe('a key', () => {
  test('gives the same thread again, across a restart', async () => {
    const server = await startApp();
    const client = await server.connect();
    const params = { title: 'once', ...KEY };
    const first = await client.request('thread/start', params);
    expect(await client.request('thread/start', params)).toEqual(first);
    await server.restart();
    const later = await server.connect();
    expect(await later.request('thread/start', { ...KEY, title: 'once' })).toEqual(first);
    const drift = await later.refusal('thread/start', { ...params, title: 'twice' });
    expect(drift).toMatchObject({ code: -32009, data: { kind: 'idempotency_drift' } });
  });

  test('starts a turn once, across a restart', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    const params = { threadId, input: text('say once'), ...KEY };
    const first = await client.request('turn/start', params);
    expect(await client.request('turn/start', params)).toEqual(first);
    await completed(client, first.turn.id);
    await server.restart();
    const later = await server.connect();
    expect(await later.request('turn/start', params)).toEqual(first);
    expect((await later.request('thread/turns/list', { threadId })).data).toHaveLength(1);
    const drift = await later.refusal('turn/start', { ...params, input: text('say twice') });
    expect(drift.data.kind).toBe('idempotency_drift');
  });

  test('holds while the first request is under way', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    const params = { threadId, input: text('say once'), ...KEY };
    const ids = Array.from({ length: 20 }, () => client.post('turn/start', params));
    const answers = await Promise.all(ids.map((id) => client.answerTo(id)));
    expect(new Set(answers.map((each) => each.turn.id)).size).toBe(1);
    await completed(client, answers[0]!.turn.id);
    expect((await client.request('thread/turns/list', { threadId })).data).toHaveLength(1);
  });

  test('holds for two threads that are started at once', async () => {
    const server = await startApp();
    const client = await server.connect();
    const ids = Array.from({ length: 20 }, () => client.post('thread/start', KEY));
    const answers = await Promise.all(ids.map((id) => client.answerTo(id)));
    expect(new Set(answers.map((each) => each.thread.id)).size).toBe(1);
    expect((await client.request('thread/loaded/list', {})).data).toHaveLength(1);
  });

  test('used for two threads at once counts for one of them, and the other goes on', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threads = [await startThread(client), await startThread(client), await startThread(client)];
    const ids = threads.map((threadId) => client.post('thread/name/set', { threadId, name: 'n', idempotencyKey: 'k' }));
    const outcomes = await Promise.allSettled(ids.map((id) => client.answerTo(id)));
    const refusals = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    expect(refusals).toMatchObject(Array(2).fill({ code: -32009, data: { kind: 'idempotency_drift' } }));
    for (const threadId of threads) expect((await runTurn(client, threadId, 'say x')).status).toBe('completed');
    expect(client.news('thread/closed')).toEqual([]);
  });

  test('does not remember a refusal', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    const { turn } = await client.request('turn/start', { threadId, input: text('hang') });
    const params = { threadId, input: text('say later'), ...KEY };
    expect((await client.refusal('turn/start', params)).code).toBe(-32009);
    await client.request('turn/interrupt', { threadId, turnId: turn.id });
    await completed(client, turn.id);
    const second = await client.request('turn/start', params);
    expect((await completed(client, second.turn.id)).status).toBe('completed');
  });

  test.each([
    ['thread/name/set', { name: 'once' }],
    ['thread/archive', {}],
    ['thread/delete', {}],
  ])('of %s gives the same answer again', async (method, params) => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    const whole = { threadId, ...params, ...KEY };
    const first = await client.request(method, whole);
    expect(await client.request(method, whole)).toEqual(first);
    await server.restart();
    const later = await server.connect();
    expect(await later.request(method, whole)).toEqual(first);
  });

  test('belongs to one method', async () => {
    const server = await startApp();
    const client = await server.connect();
    const { thread } = await client.request('thread/start', KEY);
    await client.request('thread/name/set', { threadId: thread.id, name: 'named', ...KEY });
    expect((await client.request('thread/read', { threadId: thread.id })).thread.name).toBe('named');
  });

  test.each([[''], [7], ['x'.repeat(257)]])('that is %j is refused', async (idempotencyKey) => {
    const server = await startApp();
    const client = await server.connect();
    expect((await client.refusal('thread/start', { idempotencyKey })).code).toBe(-32602);
  });

  test('rolls back once', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    for (const words of ['say one', 'say two', 'say three']) {
      const { turn } = await client.request('turn/start', { threadId, input: text(words) });
      await completed(client, turn.id);
    }
    const params = { threadId, numTurns: 1, ...KEY };
    await client.request('thread/rollback', params);
    await client.request('thread/rollback', params);
    expect((await client.request('thread/turns/list', { threadId })).data).toHaveLength(2);
  });
});

describe('a message with an id of the client', () => {
  test('starts one turn, across a restart, and its item has the id', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    const params = { threadId, input: text('say once'), clientUserMessageId: 'mine' };
    const first = await client.request('turn/start', params);
    expect(await client.request('turn/start', params)).toEqual(first);
    await completed(client, first.turn.id);
    await server.restart();
    const later = await server.connect();
    expect(await later.request('turn/start', params)).toEqual(first);
    const drift = await later.refusal('turn/start', { ...params, input: text('say other') });
    expect(drift).toMatchObject({ code: -32009, data: { kind: 'idempotency_drift' } });
    const items = await itemsOf(later, threadId);
    expect(items.filter((each) => each.clientId === 'mine')).toHaveLength(1);
    expect(items).toHaveLength(2);
  });

  test('may have the same id on another thread', async () => {
    const server = await startApp();
    const client = await server.connect();
    const input = text('say hello');
    for (const threadId of [await startThread(client), await startThread(client)]) {
      const { turn } = await client.request('turn/start', { threadId, input, clientUserMessageId: 'mine' });
      expect((await completed(client, turn.id)).status).toBe('completed');
    }
  });

  test('steers once', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    const { turn } = await client.request('turn/start', { threadId, input: text('hang') });
    const params = { threadId, expectedTurnId: turn.id, input: text('also this'), clientUserMessageId: 'mine' };
    const first = await client.request('turn/steer', params);
    expect(await client.request('turn/steer', params)).toEqual(first);
    await client.request('turn/interrupt', { threadId, turnId: turn.id });
    await completed(client, turn.id);
    const mine = (await itemsOf(client, threadId)).filter((each) => each.clientId === 'mine');
    expect(mine).toHaveLength(1);
  });
});

test('a thread with an id of the client is begun once', async () => {
  const server = await startApp();
  const client = await server.connect();
  const { thread } = await client.request('thread/start', { threadId: 'my-thread' });
  expect(thread.id).toBe('my-thread');
  expect((await client.refusal('thread/start', { threadId: 'my-thread' })).code).toBe(-32009);
});

describe('on an ephemeral thread', () => {
  test('the start itself is done once while it is loaded', async () => {
    const server = await startApp();
    const client = await server.connect();
    const params = { ephemeral: true, ...KEY };
    const first = await client.request('thread/start', params);
    expect(await client.request('thread/start', params)).toEqual(first);
    expect((await client.request('thread/loaded/list', {})).data).toEqual([first.thread.id]);
    await server.restart();
    const later = await server.connect();
    expect((await later.request('thread/start', params)).thread.id).not.toBe(first.thread.id);
  });

  test('a turn is started once for one key', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client, { ephemeral: true });
    const params = { threadId, input: text('say once'), ...KEY };
    const first = await client.request('turn/start', params);
    await completed(client, first.turn.id);
    expect(await client.request('turn/start', params)).toEqual(first);
    const drift = await client.refusal('turn/start', { ...params, input: text('say other') });
    expect(drift.data.kind).toBe('idempotency_drift');
    const { turn } = await client.request('turn/start', { threadId, input: text('say more') });
    expect((await completed(client, turn.id)).status).toBe('completed');
    expect(await itemsOf(client, threadId)).toHaveLength(4);
  });
});
