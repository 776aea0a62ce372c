// Tools that a client declares: asked of one client, checked both ways, never run twice, and never a success by mistake.

import { afterEach, describe, expect, test } from 'vitest';
import { localPrincipal } from '../../src/auth/principal.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, startThread, startTurn } from '../harness/turns.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

const lookup = {
  type: 'function',
  name: 'lookup',
  description: 'Looks up a ticket',
  inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
};
const DECLARED = { dynamicTools: [lookup] };
const CALL = 'call lookup {"id":"T-1"}';
const said = (text: string) => [{ type: 'inputText', text }];

async function started() {
  const server = await startApp();
  const client = await server.connect({ experimentalApi: true, name: 'declarer' });
  const threadId = await startThread(client, { cwd: server.workspace, ...DECLARED });
  return { server, client, threadId };
}

async function callItem(client: TestClient, threadId: string) {
  return (await itemsOf(client, threadId)).find(({ type }) => type === 'dynamicToolCall');
}

test('a call is shown, asked, answered and kept', async () => {
  const { client, threadId } = await started();
  const turnId = await startTurn(client, threadId, CALL);
  const question = await client.asked();
  const [begun] = client.news('item/started').filter(({ item }) => item.type === 'dynamicToolCall');
  expect(begun!.item).toMatchObject({ tool: 'lookup', status: 'inProgress', success: null, contentItems: null });
  expect(question).toMatchObject({ method: 'item/tool/call' });
  expect(question.params).toEqual({
    ...{ threadId, turnId, callId: begun!.item.id, namespace: null },
    ...{ tool: 'lookup', arguments: { id: 'T-1' } },
  });
  question.answer({ contentItems: said('open'), success: true });
  expect(await completed(client, turnId)).toMatchObject({ status: 'completed' });
  const [ended] = client.news('item/completed').filter(({ item }) => item.type === 'dynamicToolCall');
  expect(ended!.item).toMatchObject({ status: 'completed', success: true, contentItems: said('open') });
  expect(await callItem(client, threadId)).toEqual(ended!.item);
});

describe('what is no success', () => {
  test.each([
    ['an error', { code: -32000, message: 'no' }, undefined, 'dynamic tool request failed'],
    [
      'a method that the client does not know',
      { code: -32601, message: 'no' },
      undefined,
      'dynamic tool request failed',
    ],
    ['an answer without a shape', undefined, {}, 'dynamic tool response was invalid'],
    ['a success that is a word', undefined, { contentItems: [], success: 'yes' }, 'dynamic tool response was invalid'],
    [
      'content of no kind',
      undefined,
      { contentItems: [{ type: 'x' }], success: true },
      'dynamic tool response was invalid',
    ],
  ])('%s', async (_, error, result, text) => {
    const { client, threadId } = await started();
    const turnId = await startTurn(client, threadId, CALL);
    const question = await client.asked();
    if (error) question.refuse(error);
    else question.answer(result);
    await completed(client, turnId);
    expect(await callItem(client, threadId)).toMatchObject({
      ...{ status: 'failed', success: false, contentItems: said(text) },
    });
  });

  test('a client that goes while it is asked', async () => {
    const { server, client, threadId } = await started();
    const turnId = await startTurn(client, threadId, CALL);
    await client.asked();
    const other = await server.connect({ experimentalApi: true });
    await other.request('thread/resume', { threadId });
    client.wire.cut();
    await completed(other, turnId);
    expect(await callItem(other, threadId)).toMatchObject({ status: 'failed', success: false, outcome: 'unknown' });
    expect(other.questions()).toEqual([]);
  });

  test('nobody who listens', async () => {
    const { server, client, threadId } = await started();
    await client.request('thread/unsubscribe', { threadId });
    const watcher = await server.connectAs(
      { ...localPrincipal, permissions: new Set(['thread:read'] as const) },
      { experimentalApi: true },
    );
    await watcher.request('thread/resume', { threadId });
    const turnId = await startTurn(client, threadId, CALL);
    await completed(watcher, turnId);
    expect(await callItem(client, threadId)).toMatchObject({ status: 'failed', success: false });
    expect([...client.questions(), ...watcher.questions()]).toEqual([]);
  });

  test('arguments that do not fit', async () => {
    const { client, threadId } = await started();
    const turnId = await startTurn(client, threadId, 'call lookup {"id":7}');
    await completed(client, turnId);
    expect(client.questions()).toEqual([]);
    expect(await callItem(client, threadId)).toBeUndefined();
  });
});

test('an interrupt ends the call before its answer, and what comes later changes nothing', async () => {
  const { client, threadId } = await started();
  const turnId = await startTurn(client, threadId, CALL);
  const question = await client.asked();
  expect(await client.request('turn/interrupt', { threadId, turnId })).toEqual({ physicallySettled: true });
  question.answer({ contentItems: said('late'), success: true });
  await client.settled();
  const item = await callItem(client, threadId);
  expect(item).toMatchObject({ status: 'failed', success: false, contentItems: [], outcome: 'unknown' });
  const order = client.transcript.map(({ method, result, params }) =>
    result?.physicallySettled ? 'answer' : method === 'item/completed' && params.item.id === item!.id ? 'item' : '',
  );
  expect(order.filter(Boolean)).toEqual(['item', 'answer']);
});

test('of two clients the one that declared is asked, and the other only if that one cannot have begun', async () => {
  const { server, client, threadId } = await started();
  const second = await server.connect({ experimentalApi: true, name: 'another' });
  await second.request('thread/resume', { threadId });
  const turnId = await startTurn(second, threadId, CALL);
  const question = await client.asked();
  expect(second.questions()).toEqual([]);
  question.refuse({ code: -32601, message: 'method not found' });
  const next = await second.asked();
  expect(next.params).toEqual(question.params);
  next.answer({ contentItems: said('from the second'), success: true });
  await completed(second, turnId);
  expect(await callItem(client, threadId)).toMatchObject({
    status: 'completed',
    contentItems: said('from the second'),
  });
});

test('a client that resumes in the middle of a call is not asked as well', async () => {
  const { server, client, threadId } = await started();
  const turnId = await startTurn(client, threadId, CALL);
  const question = await client.asked();
  const second = await server.connect({ experimentalApi: true, name: 'declarer' });
  await second.request('thread/resume', { threadId, afterEventSeq: 0 });
  await second.notified('item/started', ({ item }) => item.type === 'dynamicToolCall');
  await second.settled();
  question.answer({ contentItems: [], success: true });
  await completed(second, turnId);
  expect(second.questions()).toEqual([]);
});

test('calls of one answer are asked side by side, and each takes its own answer', async () => {
  const { client, threadId } = await started();
  const turnId = await startTurn(client, threadId, 'call lookup {"id":"A"}\ncall lookup {"id":"B"}');
  const first = await client.asked(({ arguments: given }) => given.id === 'A');
  const second = await client.asked(({ arguments: given }) => given.id === 'B');
  second.answer({ contentItems: said('of B'), success: true });
  first.answer({ contentItems: said('of A'), success: false });
  await completed(client, turnId);
  const calls = (await itemsOf(client, threadId)).filter(({ type }) => type === 'dynamicToolCall');
  expect(calls.map(({ arguments: { id }, success, contentItems }) => [id, success, contentItems])).toEqual([
    ['A', false, said('of A')],
    ['B', true, said('of B')],
  ]);
});

test('an answer that does not come is not waited for for ever', async () => {
  const clock = new ManualClock();
  const server = await startApp({ clock, config: { client_tool_timeout_seconds: 100 } });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace, ...DECLARED });
  const turnId = await startTurn(client, threadId, CALL);
  await client.asked();
  clock.advance(100_000);
  await completed(client, turnId);
  expect(await callItem(client, threadId)).toMatchObject({ status: 'failed', outcome: 'unknown' });
});

test('after a kill the call is of unknown outcome, the tools are still declared, and nobody is asked again', async () => {
  const { server, client, threadId } = await started();
  await startTurn(client, threadId, CALL);
  await client.asked();
  const after = await server.afterKill();
  const again = await after.connect({ experimentalApi: true, name: 'declarer' });
  await again.request('thread/resume', { threadId });
  expect(await callItem(again, threadId)).toMatchObject({ status: 'failed', success: false, outcome: 'unknown' });
  expect(again.questions()).toEqual([]);
  const turnId = await startTurn(again, threadId, CALL);
  (await again.asked()).answer({ contentItems: said('now'), success: true });
  expect(await completed(again, turnId)).toMatchObject({ status: 'completed' });
});

test.each([
  ['a name', [{ ...lookup, name: 'bad name!' }], /dynamic tool name must match \^\[a-zA-Z0-9_-\]\+\$/],
  ['the name of one of ours', [{ ...lookup, name: 'exec_command' }], /more than one tool of the name exec_command/],
  ['a name twice', [lookup, lookup], /more than one tool of the name lookup/],
  ['a schema that is none', [{ ...lookup, inputSchema: { type: 'bogus' } }], /inputSchema of lookup cannot be checked/],
  ['no type', [{ name: 'x', description: '', inputSchema: {} }], /dynamicTools/],
])('%s that cannot be: refused when it is declared', async (_, dynamicTools, message) => {
  const server = await startApp();
  const client = await server.connect({ experimentalApi: true });
  expect((await client.refusal('thread/start', { dynamicTools })).message).toMatch(message);
});

test('without the capability no tools can be declared', async () => {
  const server = await startApp();
  const client = await server.connect();
  expect((await client.refusal('thread/start', DECLARED)).message).toContain('experimentalApi');
});
