// Questions of MCP servers as durable ones: kept, answered from anywhere, checked, ended once, and over with the process that asked.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import type { Log } from '../../src/base/log.ts';
import { silentLog } from '../../src/base/log.ts';
import { openLmdbHistory } from '../../src/history/lmdb.ts';
import type { ThreadEvent } from '../../src/model/event.ts';
import { cleanUp, type RunningApp, type StartOptions, startApp } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, startThread, startTurn } from '../harness/turns.ts';
import { eventually } from '../unit/children/waiting.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

const HOSTILE = fileURLToPath(new URL('../harness/hostile-mcp-server.mjs', import.meta.url));
const forms = { command: process.execPath, args: [HOSTILE, 'asks'] };
const METHOD = 'mcpServer/elicitation/request';
const RESOLVED = 'serverRequest/resolved';
const WAITING = { type: 'active', activeFlags: ['waitingOnApproval'] };
const ANN = { action: 'accept', content: { name: 'Ann', age: 3 } };

async function started(options: StartOptions = {}) {
  const server = await startApp({ config: { mcp_servers: { forms } }, ...options });
  const client = await server.connect({ experimentalApi: true });
  const settings = { cwd: server.workspace, approvalPolicy: 'on-request', sandbox: 'workspace-write' };
  const threadId = await startThread(client, settings);
  await client.notified('mcpServer/startupStatus/updated', ({ status }) => status === 'ready');
  return { server, client, threadId };
}

const call = (client: TestClient, threadId: string, tool: string, args: object = {}) =>
  client.request('mcpServer/tool/call', { threadId, server: 'forms', tool, arguments: args });

/** What the server was told, which it answers the call with. */
const told = async (calling: Promise<Received>) => JSON.parse((await calling).content[0].text);

const pendingOf = async (client: TestClient): Promise<Received[]> =>
  (await client.request('approval/pending', {})).data;

const resolve = (client: TestClient, { approvalId, nonce }: Received, decision: unknown) =>
  client.request('approval/resolve', { approvalId, nonce, decision });

async function eventsOf(directory: string, threadId: string): Promise<ThreadEvent[]> {
  const history = await openLmdbHistory({ directory, log: silentLog() });
  try {
    return (await history.forTenant('local').events(threadId, 0, 10_000)).map(({ event }) => event);
  } finally {
    await history.close();
  }
}

const endsIn = (events: readonly ThreadEvent[]) =>
  events.flatMap((event) => (event.type === 'approvalResolved' ? [event.resolution] : []));

async function onStatus(client: TestClient, status: object): Promise<void> {
  await client.notified('thread/status/changed', (params) => JSON.stringify(params.status) === JSON.stringify(status));
}

describe('a question to nobody in particular', () => {
  test('stands for whoever comes, is listed over all threads, and answered from anywhere', async () => {
    const { server, client, threadId } = await started();
    await client.request('thread/unsubscribe', { threadId });
    const calling = call(client, threadId, 'ask');
    await onStatus(client, WAITING);
    const other = await server.connect({ experimentalApi: true });
    const [pending] = await pendingOf(other);
    expect(pending).toMatchObject({
      ...{ threadId, turnId: null, itemId: null, kind: 'elicitation', method: METHOD },
      availableDecisions: ['accept', 'decline', 'cancel'],
      params: { threadId, turnId: null, serverName: 'forms', mode: 'form', message: 'Who?', _meta: null },
    });
    expect((await other.request('thread/list', { useStateDbOnly: false })).data).toEqual([]);
    expect((await other.request('thread/read', { threadId })).thread.status).toEqual(WAITING);
    expect(await resolve(other, pending!, ANN)).toMatchObject({ status: 'answered', threadId });
    expect(await told(calling)).toEqual(ANN);
    await onStatus(client, { type: 'idle' });
    expect(await pendingOf(other)).toEqual([]);
  });

  test('keeps its thread in memory, and its server from ending for want of work', async () => {
    const clock = new ManualClock(Date.now());
    const { server, client, threadId } = await started({ clock });
    await client.request('thread/unsubscribe', { threadId });
    const calling = call(client, threadId, 'ask');
    await eventually('the question', async () => (await pendingOf(client)).length === 1);
    clock.advance(60 * 60 * 1000);
    expect((await client.request('thread/loaded/list', {})).data).toEqual([threadId]);
    expect(server.app.isBusy()).toBe(true);
    await resolve(client, (await pendingOf(client))[0]!, 'cancel');
    expect(await told(calling)).toEqual({ action: 'cancel' });
  });

  test('is declined unasked where the operator wants that', async () => {
    const { client, threadId } = await started({ config: { mcp_servers: { forms }, unattended: 'decline' } });
    await client.request('thread/unsubscribe', { threadId });
    expect(await told(call(client, threadId, 'ask'))).toEqual({ action: 'decline' });
  });
});

test.each(['thread/archive', 'thread/delete'])(
  'a thread that goes (%s) takes what stands in it along',
  async (method) => {
    const { client, threadId } = await started();
    await completed(client, await startTurn(client, threadId, 'say hello'));
    const calling = call(client, threadId, 'ask').catch((error: Error) => error.message);
    const question = await client.asked();
    const [pending] = await pendingOf(client);
    await client.request(method, { threadId });
    await client.notified(RESOLVED, ({ requestId }) => requestId === question.id);
    expect(await pendingOf(client)).toEqual([]);
    const { approvalId, nonce } = pending!;
    const refusal = await client.refusal('approval/resolve', { approvalId, nonce, decision: ANN });
    expect(refusal.code).toBe(-32009);
    expect(await calling).toEqual(expect.stringContaining('closed'));
  },
);

describe('an answer from elsewhere', () => {
  test.each([
    ['without a field that is needed', { action: 'accept', content: { age: 3 } }, 'the field name has to be filled in'],
    ['with a value of another type', { action: 'accept', content: { name: 7 } }, 'the field name does not fit'],
    ['with a value out of bounds', { action: 'accept', content: { name: 'A', age: 0 } }, 'at least 1'],
    ['that only says yes', 'accept', 'the field name has to be filled in'],
    ['that is none', { decision: 'accept' }, 'does not have the shape'],
  ])('%s is refused, and the question stands to be answered better', async (_, decision, why) => {
    const { client, threadId } = await started();
    const calling = call(client, threadId, 'ask');
    await client.asked();
    const [pending] = await pendingOf(client);
    const refusal = await client.refusal('approval/resolve', {
      ...{ approvalId: pending!.approvalId, nonce: pending!.nonce, decision },
    });
    expect([refusal.code, refusal.message]).toEqual([-32602, expect.stringContaining(why)]);
    await resolve(client, pending!, { action: 'accept', content: { name: 'Ann', more: 'x', age: null } });
    expect(await told(calling)).toEqual({ action: 'accept', content: { name: 'Ann' } });
    expect(client.news('warning').map(({ message }) => message)).toEqual([expect.stringContaining(': more')]);
  });

  test('goes to the question that it is about, of several of one server', async () => {
    const { client, threadId } = await started();
    const calls = ['one', 'two', 'three'].map((message) => call(client, threadId, 'ask', { message }));
    await client.message(() => client.questions().length === 3, 'three questions');
    const pending = await pendingOf(client);
    const about = (message: string) => pending.find(({ params }) => params.message === message)!;
    await resolve(client, about('two'), { action: 'accept', content: { name: 'second' } });
    expect(await told(calls[1]!)).toEqual({ action: 'accept', content: { name: 'second' } });
    expect((await client.request('thread/read', { threadId })).thread.status).toEqual(WAITING);
    await resolve(client, about('three'), 'decline');
    await resolve(client, about('one'), 'cancel');
    expect([await told(calls[0]!), await told(calls[2]!)]).toEqual([{ action: 'cancel' }, { action: 'decline' }]);
    await onStatus(client, { type: 'idle' });
    expect(client.news(RESOLVED)).toHaveLength(3);
  });
});

test('what was typed is told to the server and kept nowhere', async () => {
  const lines: string[] = [];
  const tell = (...given: unknown[]) => void lines.push(JSON.stringify(given));
  const log: Log = { debug: tell, info: tell, warn: tell, error: tell };
  const { server, client, threadId } = await started({ log });
  const secret = 'marker-of-a-secret';
  const form = { type: 'object', properties: { pin: { type: 'string', maxLength: 40 } } };
  const calling = call(client, threadId, 'ask', { schema: form });
  const question = await client.asked();
  const [pending] = await pendingOf(client);
  const wrong = { action: 'accept', content: { pin: secret.repeat(5) } };
  const { approvalId, nonce } = pending!;
  const refusal = await client.refusal('approval/resolve', {
    approvalId,
    nonce,
    decision: wrong,
    idempotencyKey: 'k1',
  });
  expect(JSON.stringify([refusal.message, refusal.data])).not.toContain(secret);
  const decision = { action: 'accept', content: { pin: secret, [`other-${1}`]: secret } };
  await client.request('approval/resolve', { approvalId, nonce, decision, idempotencyKey: 'k2' });
  expect(await told(calling)).toEqual({ action: 'accept', content: { pin: secret } });
  const again = call(client, threadId, 'ask', { schema: form });
  (await client.asked(({ heddle }) => heddle.approvalId !== question.params.heddle.approvalId)).answer(wrong);
  expect(await told(again)).toEqual({ action: 'decline' });
  const ownReply = (message: Received) => JSON.stringify(message.result ?? {}).includes(secret);
  expect(
    client.transcript.filter((each) => !ownReply(each)).some((each) => JSON.stringify(each).includes(secret)),
  ).toBe(false);
  await server.close();
  expect(lines.join('\n')).not.toContain(secret);
  for (const entry of await readdir(server.dataDirectory, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) expect((await readFile(join(entry.parentPath, entry.name))).includes(secret)).toBe(false);
  const ends = endsIn(await eventsOf(server.dataDirectory, threadId));
  expect(ends).toEqual([
    { by: 'answer', decision: { action: 'accept', fields: ['pin'] }, subject: expect.any(String) },
    { by: 'badAnswer', problem: expect.stringContaining('the field pin does not fit') },
  ]);
});

describe('in a turn', () => {
  const FREE = { approvalPolicy: 'on-request' };

  async function asking(tool = 'ask', options: StartOptions = {}) {
    const rig = await started(options);
    const turnId = await startTurn(rig.client, rig.threadId, `call mcp__forms__${tool} {}`, FREE);
    return { ...rig, turnId, question: await rig.client.asked() };
  }

  test('is one of the item that shows the call, and its answer is part of the result', async () => {
    const { client, threadId, turnId, question } = await asking();
    const item = (await itemsOf(client, threadId)).find(({ type }) => type === 'mcpToolCall');
    expect(question.params).toMatchObject({ turnId, heddle: { itemId: item!.id } });
    expect((await pendingOf(client))[0]).toMatchObject({ turnId, itemId: item!.id, kind: 'elicitation' });
    question.answer(ANN);
    expect(await completed(client, turnId)).toMatchObject({ status: 'completed' });
    expect((await itemsOf(client, threadId)).find(({ type }) => type === 'mcpToolCall')).toMatchObject({
      ...{ status: 'completed', result: { content: [{ text: JSON.stringify(ANN) }] } },
    });
  });

  test('is over when its server takes it back; the turn goes on, and is told to wait no more', async () => {
    const { client, threadId, turnId, question } = await asking('ask-and-withdraw');
    await call(client, threadId, 'withdraw');
    await client.notified(RESOLVED, ({ requestId }) => requestId === question.id);
    expect(await completed(client, turnId)).toMatchObject({ status: 'completed' });
    const told = client.news('thread/status/changed').map(({ status }) => status.activeFlags);
    expect(told).toEqual([[], ['waitingOnApproval'], [], undefined]);
    question.answer(ANN);
    await client.settled();
    expect(client.news(RESOLVED)).toHaveLength(1);
  });

  test('is over when the configuration has its server no more', async () => {
    const { client, threadId, turnId, question } = await asking();
    const edits = [{ keyPath: 'mcp_servers', value: {}, mergeStrategy: 'replace' }];
    await client.request('config/batchWrite', { edits });
    await client.request('config/mcpServer/reload', {});
    await client.notified(RESOLVED, ({ requestId }) => requestId === question.id);
    await completed(client, turnId);
    expect((await itemsOf(client, threadId)).find(({ type }) => type === 'mcpToolCall')).toMatchObject({
      ...{ status: 'failed', outcome: 'unknown' },
    });
  });

  test('is not over with the turn where a client asked for it', async () => {
    const { client, threadId } = await started();
    const turnId = await startTurn(client, threadId, 'hang');
    const calling = call(client, threadId, 'ask');
    const question = await client.asked();
    expect(question.params.turnId).toBe(null);
    await client.request('turn/interrupt', { threadId, turnId });
    await completed(client, turnId);
    expect(client.news('thread/status/changed').at(-1)!.status).toEqual(WAITING);
    expect(client.news(RESOLVED)).toEqual([]);
    question.answer(ANN);
    expect(await told(calling)).toEqual(ANN);
    await onStatus(client, { type: 'idle' });
  });

  test('is over with the turn where no call asked for it', async () => {
    const { client, threadId } = await started();
    const turnId = await startTurn(client, threadId, 'call mcp__forms__ask-nobody {}\n\nhang', FREE);
    const question = await client.asked();
    expect(question.params).toMatchObject({ turnId, heddle: { itemId: null } });
    await client.request('turn/interrupt', { threadId, turnId });
    await client.notified(RESOLVED, ({ requestId }) => requestId === question.id);
    await completed(client, turnId);
    expect(await pendingOf(client)).toEqual([]);
  });
});

describe('a client that asked for it', () => {
  test('and leaves ends it, whoever else was asked', async () => {
    const { server, client, threadId } = await started();
    const caller = await server.connect({ experimentalApi: true });
    void call(caller, threadId, 'ask').catch(() => {});
    const question = await client.asked();
    caller.wire.end();
    await client.notified(RESOLVED, ({ requestId }) => requestId === question.id);
    await onStatus(client, { type: 'idle' });
    expect(await pendingOf(client)).toEqual([]);
  });

  test('by reading a resource waits for people as long as they take, and no longer than it is there', async () => {
    const clock = new ManualClock(Date.now());
    const { server, client, threadId } = await started({ clock });
    const read = (by: TestClient) =>
      by.request('mcpServer/resource/read', { threadId, server: 'forms', uri: 'forms://who' });
    const reading = read(client);
    const question = await client.asked();
    clock.advance(10 * 60_000);
    question.answer(ANN);
    expect(JSON.parse((await reading).contents[0].text)).toEqual(ANN);
    const other = await server.connect({ experimentalApi: true });
    void read(other).catch(() => {});
    const second = await client.asked(({ heddle }) => heddle.approvalId !== question.params.heddle.approvalId);
    other.wire.end();
    await client.notified(RESOLVED, ({ requestId }) => requestId === second.id);
  });
});

describe('a stop of the server', () => {
  const stopped = (server: RunningApp) => ({
    'a kill': () => server.afterKill(),
    'a polite stop': async () => {
      await server.restart();
      return server;
    },
  });
  const STOPS = ['a kill', 'a polite stop'] as const;

  test.each(STOPS)('(%s) ends what was asked in a turn, with the call that asked and the turn', async (how) => {
    const { server, client, threadId } = await started();
    const turnId = await startTurn(client, threadId, 'call mcp__forms__ask {}');
    const question = await client.asked();
    const [pending] = await pendingOf(client);
    const seq = client.transcript.findLast((each) => each.seq !== undefined)!.seq;
    const next = await stopped(server)[how]();
    const late = await next.connect({ experimentalApi: true });
    expect(await pendingOf(late)).toEqual([]);
    const { thread, pendingApprovals } = await late.request('thread/resume', { threadId, afterEventSeq: seq });
    expect([thread.status, pendingApprovals]).toEqual([{ type: 'idle' }, []]);
    expect((await late.notified('turn/completed', ({ turn }) => turn.id === turnId)).turn.status).toBe('interrupted');
    expect(late.news(RESOLVED)).toHaveLength(1);
    expect(late.questions()).toEqual([]);
    expect((await itemsOf(late, threadId)).find(({ type }) => type === 'mcpToolCall')).toMatchObject({
      ...{ status: 'failed', outcome: 'unknown' },
    });
    await refusedAsEnded(late, pending!, how === 'a kill');
    expect(question.params.heddle.approvalId).toBe(pending!.approvalId);
    await next.close();
    expect(endsIn(await eventsOf(next.dataDirectory, threadId))).toHaveLength(1);
  });

  test.each(STOPS)('(%s) ends what a client asked for outside of any turn, once', async (how) => {
    const { server, client, threadId } = await started();
    void call(client, threadId, 'ask').catch(() => {});
    await client.asked();
    const [pending] = await pendingOf(client);
    const next = await stopped(server)[how]();
    const late = await next.connect({ experimentalApi: true });
    expect(await pendingOf(late)).toEqual([]);
    await refusedAsEnded(late, pending!, how === 'a kill');
    const { thread, pendingApprovals } = await late.request('thread/resume', { threadId });
    expect([thread.status, pendingApprovals]).toEqual([{ type: 'idle' }, []]);
    const { events } = await late.request('thread/read', { threadId, afterEventSeq: 0 });
    expect(events.filter(({ method }: Received) => method === RESOLVED)).toHaveLength(1);
    expect(late.questions()).toEqual([]);
    const again = call(late, threadId, 'ask');
    (await late.asked()).answer(ANN);
    expect(await told(again)).toEqual(ANN);
    await next.close();
    const ends = endsIn(await eventsOf(next.dataDirectory, threadId));
    expect(ends.map(({ by }) => by)).toEqual(['interrupt', 'answer']);
  });
});

/** Of an earlier process only what a start had to end is known to have been there. */
async function refusedAsEnded(client: TestClient, pending: Received, isKnown: boolean): Promise<void> {
  const { approvalId, nonce } = pending;
  const refusal = await client.refusal('approval/resolve', { approvalId, nonce, decision: ANN });
  const [code, text] = isKnown ? [-32009, 'the question has ended already: it was interrupted'] : [-32004, 'not found'];
  expect([refusal.code, refusal.message]).toEqual([code, expect.stringContaining(text)]);
}
