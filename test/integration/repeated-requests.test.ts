// What a client sends again: every key of a request counts, refusals keep none, and a repeated start listens as the first one did.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, itemsOf, runTurn, startThread, text } from '../harness/turns.ts';

afterEach(cleanUp);

const KEY = { idempotencyKey: 'the key' };
const EXPERIMENTAL = { experimentalApi: true };

describe('a message with an id of the client and a key', () => {
  test('starts one turn, whichever of both comes again, across a restart', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    const message = { threadId, input: text('say once'), clientUserMessageId: 'mine' };
    const first = await client.request('turn/start', { ...message, idempotencyKey: 'k1' });
    await completed(client, first.turn.id);
    const again = [{ idempotencyKey: 'k1' }, { idempotencyKey: 'k2' }, {}];
    for (const key of again) expect(await client.request('turn/start', { ...message, ...key })).toEqual(first);
    await server.restart();
    const later = await server.connect();
    for (const key of again) expect(await later.request('turn/start', { ...message, ...key })).toEqual(first);
    expect((await later.request('thread/turns/list', { threadId })).data).toHaveLength(1);
    const other = { ...message, clientUserMessageId: 'another', idempotencyKey: 'k1' };
    expect((await later.refusal('turn/start', other)).data.kind).toBe('idempotency_drift');
  });

  test('steers once, also when all is sent at once', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    const { turn } = await client.request('turn/start', { threadId, input: text('hang') });
    const steer = { threadId, expectedTurnId: turn.id, input: text('also this'), clientUserMessageId: 'mine' };
    const ids = ['k1', 'k2', null, 'k1'].map((idempotencyKey) =>
      client.post('turn/steer', { ...steer, idempotencyKey }),
    );
    for (const id of ids) expect(await client.answerTo(id)).toEqual({ turnId: turn.id });
    await client.request('turn/interrupt', { threadId, turnId: turn.id });
    await completed(client, turn.id);
    expect((await itemsOf(client, threadId)).filter((each) => each.clientId === 'mine')).toHaveLength(1);
  });
});

describe('a refused effect', () => {
  test('is refused in the same way again, and its key is free', async () => {
    const server = await startApp();
    const client = await server.connect();
    const login = { type: 'apiKey', apiKey: 'not a key', ...KEY };
    for (let round = 0; round < 2; round += 1)
      expect((await client.refusal('account/login/start', login)).code).toBe(-32602);
    expect(await client.request('account/login/start', { ...login, apiKey: 'key' })).toEqual({ type: 'apiKey' });
    expect((await client.refusal('account/login/start', login)).data.kind).toBe('idempotency_drift');
  });

  test('that broke off half-way stays uncertain', async () => {
    const server = await startApp();
    const client = await server.connect();
    const [source, destination] = [join(server.workspace, 'source'), join(server.workspace, 'destination')];
    await mkdir(join(source, 'b'), { recursive: true });
    await writeFile(join(source, 'a'), 'copied');
    await mkdir(destination);
    await writeFile(join(destination, 'b'), 'in the way of a folder');
    const copy = { sourcePath: source, destinationPath: destination, recursive: true, ...KEY };
    expect((await client.refusal('fs/copy', copy)).data.isPartial).toBe(true);
    expect((await client.refusal('fs/copy', copy)).data.kind).toBe('uncertain');
  });
});

describe('a key', () => {
  test('has settings updated once', async () => {
    const server = await startApp();
    const client = await server.connect(EXPERIMENTAL);
    const threadId = await startThread(client, { model: 'first' });
    const update = { threadId, model: 'second', idempotencyKey: 'k1' };
    await client.request('thread/settings/update', update);
    await client.request('thread/settings/update', { threadId, model: 'third' });
    await client.request('thread/settings/update', update);
    expect((await client.request('thread/read', { threadId })).thread.model).toBe('third');
    const drift = await client.refusal('thread/settings/update', { ...update, model: 'fourth' });
    expect(drift.data.kind).toBe('idempotency_drift');
  });

  test('counts also when there was nothing to change', async () => {
    const server = await startApp();
    const client = await server.connect(EXPERIMENTAL);
    const threadId = await startThread(client, { model: 'first' });
    const update = { threadId, model: 'first', ...KEY };
    await client.request('thread/settings/update', update);
    expect(await client.request('thread/goal/clear', { threadId, ...KEY })).toEqual({ cleared: false });
    await client.request('thread/settings/update', { threadId, model: 'second' });
    await client.request('thread/goal/set', { threadId, objective: 'kept' });
    await client.request('thread/settings/update', update);
    expect(await client.request('thread/goal/clear', { threadId, ...KEY })).toEqual({ cleared: false });
    expect((await client.request('thread/read', { threadId })).thread.model).toBe('second');
    expect((await client.request('thread/goal/get', { threadId })).goal.objective).toBe('kept');
  });

  test('has the read state updated once', async () => {
    const server = await startApp();
    const client = await server.connect(EXPERIMENTAL);
    const threadId = await startThread(client);
    await runTurn(client, threadId, 'say x');
    const { readState } = await client.request('thread/read', { threadId });
    const update = { threadId, operation: { type: 'read' }, expectedRevision: readState.revision, ...KEY };
    const first = await client.request('thread/readState/update', update);
    expect(await client.request('thread/readState/update', update)).toEqual(first);
    expect((await client.request('thread/read', { threadId })).readState).toEqual(first.readState);
    await server.restart();
    const later = await server.connect(EXPERIMENTAL);
    expect(await later.request('thread/readState/update', update)).toEqual(first);
  });

  test('has turns reverted once, and the answer is what the history is then', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    await runTurn(client, threadId, 'say one');
    const second = await runTurn(client, threadId, 'say two');
    const revert = { threadId, beforeTurnId: second.id, ...KEY };
    const first = await client.request('thread/revert', revert);
    const { data } = await client.request('thread/turns/list', { threadId, cursor: first.turnsBackwardsCursor });
    expect(data.map((turn: { id: string }) => turn.id)).not.toContain(second.id);
    expect(data).toHaveLength(1);
    const third = await runTurn(client, threadId, 'say three');
    expect(await client.request('thread/revert', revert)).toEqual(first);
    const turns = (await client.request('thread/turns/list', { threadId })).data;
    expect(turns.map((turn: { id: string }) => turn.id)).toContain(third.id);
  });
});

describe('a repeated start', () => {
  test.each(['thread/start', 'thread/fork'])('of %s listens on a new connection', async (method) => {
    const server = await startApp();
    const [gone, client] = [await server.connect(), await server.connect()];
    const source = await startThread(gone);
    await runTurn(gone, source, 'say before');
    const params = method === 'thread/fork' ? { threadId: source, ...KEY } : { title: 'once', ...KEY };
    const first = await gone.request(method, params);
    gone.wire.cut();
    await gone.wire.closed;
    const again = await client.request(method, params);
    expect(again.thread.id).toBe(first.thread.id);
    expect(again).toEqual(first);
    expect((await runTurn(client, first.thread.id, 'say heard')).status).toBe('completed');
    expect(client.news('item/completed').map(({ item }) => item.type)).toContain('agentMessage');
  });

  test('after a restart loads the thread and listens', async () => {
    const server = await startApp();
    const first = await (await server.connect()).request('thread/start', KEY);
    await server.restart();
    const client = await server.connect();
    expect(await client.request('thread/start', KEY)).toEqual(first);
    expect((await runTurn(client, first.thread.id, 'say heard')).status).toBe('completed');
  });

  test('of who listens already tells nothing twice', async () => {
    const server = await startApp();
    const client = await server.connect();
    const ids = Array.from({ length: 5 }, () => client.post('thread/start', KEY));
    const [{ thread }] = (await Promise.all(ids.map((id) => client.answerTo(id)))) as [{ thread: { id: string } }];
    const running = await client.request('turn/start', { threadId: thread.id, input: text('say one two three') });
    await client.request('thread/start', KEY);
    await completed(client, running.turn.id);
    await client.settled();
    const seqs = client.notifications().flatMap((each) => each.seq ?? []);
    expect(seqs).toEqual([...new Set(seqs)]);
    expect(client.news('thread/started')).toHaveLength(1);
  });

  test('of an archived thread gives the answer and does not listen', async () => {
    const server = await startApp();
    const client = await server.connect();
    const first = await client.request('thread/start', KEY);
    await runTurn(client, first.thread.id, 'say x');
    await client.request('thread/archive', { threadId: first.thread.id });
    const later = await server.connect();
    expect(await later.request('thread/start', KEY)).toEqual(first);
  });
});
