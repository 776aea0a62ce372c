// Commands of the user in a thread: in a turn of their own or in the running one, outside the sandbox, told to the model later.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, itemCompleted, itemsOf, runTurn, startThread, startTurn, streamedText } from '../harness/turns.ts';
import { eventually, isRunning, pidsIn } from '../unit/children/waiting.ts';

afterEach(cleanUp);

const OUTPUT = 'item/commandExecution/outputDelta';

test('on an idle thread it is a turn of its own, outside the sandbox, answered before it begins', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client, { cwd: server.workspace, sandbox: 'read-only' });
  const command = 'echo shell; echo x >written; echo err >&2; exit 2';
  const before = client.transcript.length;
  expect(await client.request('thread/shellCommand', { threadId, command })).toEqual({});
  const item = await itemCompleted(client, ({ source }) => source === 'userShell');
  expect(item).toMatchObject({
    status: 'failed',
    exitCode: 2,
    aggregatedOutput: 'shell\nerr\n',
    cwd: server.workspace,
  });
  expect(streamedText(client, item.id, OUTPUT)).toBe('shell\nerr\n');
  const { turn } = await client.notified('turn/completed');
  expect(turn).toMatchObject({ status: 'completed', error: null });
  expect(existsSync(join(server.workspace, 'written'))).toBe(true);
  expect(client.transcript[before]).toMatchObject({ result: {} });
  expect(await itemsOf(client, threadId)).toEqual([item]);
});

test('in a running turn it is an item of that turn, which does not end before', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client, { cwd: server.workspace });
  const turnId = await startTurn(client, threadId, 'hang');
  const gate = join(server.workspace, 'gate');
  const command = `echo $$ >pids; while [ ! -e ${gate} ]; do sleep 0.01; done; echo through`;
  await client.request('thread/shellCommand', { threadId, command });
  const [pid] = await pidsIn(join(server.workspace, 'pids'), 1);
  const started = await client.notified('item/started', ({ item }) => item.source === 'userShell');
  expect(started.turnId).toBe(turnId);
  await client.request('turn/interrupt', { threadId, turnId });
  expect(isRunning(pid as number)).toBe(false);
  expect((await completed(client, turnId)).status).toBe('interrupted');
  const item = await itemCompleted(client, ({ source }) => source === 'userShell');
  expect(item.status).toBe('failed');
});

test('keeps a turn whose model has finished open until it has ended', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client, { cwd: server.workspace });
  const gate = join(server.workspace, 'gate');
  await client.request('thread/shellCommand', { threadId, command: `while [ ! -e ${gate} ]; do sleep 0.01; done` });
  const { turn } = await client.notified('turn/started');
  await client.request('thread/shellCommand', { threadId, command: 'echo second' });
  const second = await itemCompleted(client, ({ aggregatedOutput }) => aggregatedOutput === 'second\n');
  expect(second.status).toBe('completed');
  expect(client.news('turn/completed')).toEqual([]);
  await client.request('thread/shellCommand', { threadId, command: `touch ${gate}` });
  expect((await completed(client, turn.id)).status).toBe('completed');
  expect(await itemsOf(client, threadId)).toHaveLength(3);
});

test('is stopped by its time limit and by an interrupt, with its whole tree', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client, { cwd: server.workspace });
  await client.request('thread/shellCommand', { threadId, command: 'echo a; sleep 60', timeoutMs: 3000 });
  const timed = await itemCompleted(client, ({ source }) => source === 'userShell');
  expect(timed).toMatchObject({ status: 'failed', exitCode: 124, aggregatedOutput: 'a\n' });
  await client.notified('turn/completed');
  await client.request('thread/shellCommand', { threadId, command: 'echo $$ >>pids; setsid sleep 60 & wait' });
  const [pid] = await pidsIn(join(server.workspace, 'pids'), 1);
  await client.request('turn/interrupt', { threadId, turnId: '' });
  await eventually('its end', () => !isRunning(pid as number));
  await client.notified('turn/completed', ({ turn }) => turn.status === 'interrupted');
  expect((await runTurn(client, threadId, 'say still here')).status).toBe('completed');
});

test('is refused when there is nothing to run or nowhere', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client);
  const refused = (params: object) => client.refusal('thread/shellCommand', { threadId, command: 'true', ...params });
  expect(await refused({ command: '  ' })).toMatchObject({ code: -32602 });
  expect(await refused({ timeoutMs: -1 })).toMatchObject({ code: -32602 });
  expect(await refused({ threadId: '01a22943-d1cb-7783-829e-09244cbd7cf2' })).toMatchObject({ code: -32004 });
});

test('happens once for one key', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client, { cwd: server.workspace });
  const params = { threadId, command: 'echo x >>count', idempotencyKey: 'k' };
  await client.request('thread/shellCommand', params);
  await client.notified('turn/completed');
  expect(await client.request('thread/shellCommand', params)).toEqual({});
  expect(await itemsOf(client, threadId)).toHaveLength(1);
  expect(await client.refusal('thread/shellCommand', { ...params, command: 'echo y' })).toMatchObject({
    data: { kind: 'idempotency_drift' },
  });
});
