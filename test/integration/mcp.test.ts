// MCP servers: started beside the threads that use them, shown as they are, and called by clients and models.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, startThread, startTurn } from '../harness/turns.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const demo = { command: process.execPath, args: [join(ROOT, 'conformance/kit/mcp-server.mjs')] };
const SERVERS = { demo, broken: { command: '/nonexistent/mcp' }, off: { command: 'true', enabled: false } };

async function started(servers: object = SERVERS, settings: object = {}) {
  // The clock stands still: nothing is given up because the machine is busy.
  const server = await startApp({ config: { mcp_servers: servers }, clock: new ManualClock() });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace, approvalPolicy: 'on-request', ...settings });
  await ready(client, 'demo');
  return { server, client, threadId };
}

const STATUS = 'mcpServer/startupStatus/updated';

const ready = (client: TestClient, name: string) =>
  client.notified(STATUS, (params) => params.name === name && params.status === 'ready');

async function mcpItem(client: TestClient, threadId: string) {
  return (await itemsOf(client, threadId)).findLast(({ type }) => type === 'mcpToolCall');
}

const call = (client: TestClient, threadId: string, tool: string, args: object = {}, server = 'demo') =>
  client.request('mcpServer/tool/call', { threadId, server, tool, arguments: args });

test('what is configured, connected, authenticated and callable are told apart', async () => {
  const { client, threadId } = await started();
  const { data } = await client.request('mcpServerStatus/list', { threadId });
  expect(data.map(({ name, runtimeStatus }: { name: string; runtimeStatus: string }) => [name, runtimeStatus])).toEqual(
    [
      ['broken', 'failed'],
      ['demo', 'connected'],
      ['off', 'disabled'],
    ],
  );
  const [broken, live, off] = data;
  expect(live.heddle).toEqual({ enabled: true, required: false, connected: true, authenticated: null, callable: true });
  expect(Object.keys(live.tools).toSorted()).toEqual(['ask', 'echo', 'fail', 'slow', 'throw', 'write']);
  expect(live).toMatchObject({ toolsError: null, resources: [{ uri: 'demo://hello' }] });
  expect(broken).toMatchObject({ tools: {}, toolsError: expect.stringContaining('MCP startup failed') });
  expect(off).toMatchObject({ toolsError: null, heddle: { enabled: false, connected: false, callable: false } });
  const page = await client.request('mcpServerStatus/list', { detail: 'toolsAndAuthOnly', limit: 1 });
  expect(page).toMatchObject({ data: [{ name: 'broken', runtimeStatus: null }], nextCursor: expect.any(String) });
});

describe('a direct call', () => {
  test('gives what the server gave, errors of tools among it', async () => {
    const { client, threadId } = await started();
    expect(await call(client, threadId, 'echo', { text: 'hi' })).toEqual({
      content: [{ type: 'text', text: 'echo: hi' }],
      structuredContent: { echoed: 'hi' },
    });
    expect(await call(client, threadId, 'fail')).toMatchObject({ isError: true });
    expect(await call(client, threadId, 'nope')).toMatchObject({ isError: true });
    await expect(call(client, threadId, 'echo', {}, 'nope')).rejects.toThrow("unknown MCP server 'nope'");
    await expect(call(client, threadId, 'echo', {}, 'broken')).rejects.toThrow('failed to get client');
    await expect(call(client, '01a22943-d1cb-7783-829e-09244cbd7cf2', 'echo')).rejects.toThrow('thread not found');
  });

  test.each([
    ['enabled_tools', { enabled_tools: ['echo'] }],
    ['disabled_tools', { enabled_tools: ['echo', 'write'], disabled_tools: ['write'] }],
  ])('reaches no tool that is kept from it by %s, and neither does a model', async (_key, lists) => {
    const { client, threadId } = await started({ demo: { ...demo, ...lists } });
    const { data } = await client.request('mcpServerStatus/list', { threadId });
    expect(Object.keys(data[0].tools)).toEqual(['echo']);
    expect(await client.refusal('mcpServer/tool/call', { threadId, server: 'demo', tool: 'write' })).toMatchObject({
      code: -32603,
      message: expect.stringContaining("tool 'write' of MCP server 'demo' is disabled"),
    });
    expect(await call(client, threadId, 'echo', { text: 'hi' })).toMatchObject({ structuredContent: { echoed: 'hi' } });
    const turn = await startTurn(client, threadId, 'call mcp__demo__write {"text":"x"}');
    await completed(client, turn);
    expect(client.questions()).toEqual([]);
    expect(await mcpItem(client, threadId)).not.toMatchObject({ status: 'completed' });
  });

  test('reads resources, with a thread and without', async () => {
    const { client, threadId } = await started();
    const read = (uri: string, more: object = {}) =>
      client.request('mcpServer/resource/read', { server: 'demo', uri, ...more });
    expect(await read('demo://hello', { threadId })).toMatchObject({ contents: [{ text: 'hello resource' }] });
    expect(await read('demo://item/7')).toMatchObject({ contents: [{ text: 'item 7' }], originCallId: null });
    await expect(read('demo://missing', { threadId })).rejects.toThrow('demo://missing');
  });
});

describe('a question of a server', () => {
  test.each([
    [
      'accepted',
      { action: 'accept', content: { name: 'Ann', extra: 'x' } },
      { action: 'accept', content: { name: 'Ann' } },
    ],
    ['declined', { action: 'decline', content: null, _meta: null }, { action: 'decline' }],
    ['cancelled', { action: 'cancel' }, { action: 'cancel' }],
    ['answered without what it needs', { action: 'accept', content: {} }, { action: 'decline' }],
    ['answered in another shape', { decision: 'accept' }, { action: 'decline' }],
  ])('goes to the clients of its thread and is %s', async (_, answer, expected) => {
    const { client, threadId } = await started();
    const calling = call(client, threadId, 'ask');
    const question = await client.asked();
    expect(question).toMatchObject({ method: 'mcpServer/elicitation/request' });
    expect(question.params).toMatchObject({ threadId, turnId: null, serverName: 'demo', mode: 'form', _meta: null });
    const waiting = client.news('thread/status/changed').at(-1);
    expect(waiting).toMatchObject({ status: { type: 'active', activeFlags: ['waitingOnApproval'] } });
    question.answer(answer);
    const { content } = await calling;
    expect(JSON.parse(content[0].text)).toEqual(expected);
    expect(client.news('serverRequest/resolved')).toEqual([{ threadId, requestId: question.id }]);
    expect(client.news('thread/status/changed').at(-1)).toMatchObject({ status: { type: 'idle' } });
  });

  test('is not one of a client that has left the thread, but of the others; of nobody, it waits', async () => {
    const { server, client, threadId } = await started();
    const other = await server.connect({ experimentalApi: true });
    await other.request('thread/resume', { threadId });
    const calling = call(client, threadId, 'ask');
    await client.asked();
    const question = await other.asked();
    await client.request('thread/unsubscribe', { threadId });
    question.answer({ action: 'accept', content: { name: 'Bea' } });
    expect(JSON.parse((await calling).content[0].text)).toEqual({ action: 'accept', content: { name: 'Bea' } });
    const again = call(client, threadId, 'ask');
    await other.asked();
    await other.request('thread/unsubscribe', { threadId });
    await client.request('thread/resume', { threadId });
    const kept = await client.asked(({ heddle }) => heddle.approvalId !== question.params.heddle.approvalId);
    kept.answer({ action: 'cancel' });
    expect(JSON.parse((await again).content[0].text)).toEqual({ action: 'cancel' });
  });

  test('is shown to one who joins', async () => {
    const { server, client, threadId } = await started();
    const calling = call(client, threadId, 'ask');
    await client.asked();
    const other = await server.connect({ experimentalApi: true });
    await other.request('thread/resume', { threadId });
    const question = await other.asked();
    expect(question.params).toMatchObject({ serverName: 'demo' });
    question.answer({ action: 'accept', content: { name: 'Bea' } });
    expect(JSON.parse((await calling).content[0].text)).toEqual({ action: 'accept', content: { name: 'Bea' } });
  });
});

describe('a tool that the model calls', () => {
  test('runs at once when it only reads', async () => {
    const { client, threadId } = await started();
    const turnId = await startTurn(client, threadId, 'call mcp__demo__echo {"text":"hi"}');
    expect(await completed(client, turnId)).toMatchObject({ status: 'completed' });
    const [begun] = client.news('item/started').filter(({ item }) => item.type === 'mcpToolCall');
    expect(begun!.item).toMatchObject({ status: 'inProgress', server: 'demo', tool: 'echo', readOnlyHint: true });
    expect(await mcpItem(client, threadId)).toMatchObject({
      ...{ status: 'completed', arguments: { text: 'hi' }, error: null },
      result: { content: [{ type: 'text', text: 'echo: hi' }], structuredContent: { echoed: 'hi' } },
    });
  });

  test.each([
    ['accept', { action: 'accept', content: {} }, { status: 'completed', error: null }],
    ['decline', { action: 'decline' }, { status: 'failed', error: { message: 'user rejected MCP tool call' } }],
    ['cancel', { action: 'cancel' }, { status: 'failed', error: { message: 'user cancelled MCP tool call' } }],
    ['nonsense', { action: 'yes' }, { status: 'failed', result: null }],
  ])('is asked about when it may change things: %s', async (_, answer, expected) => {
    const { client, threadId } = await started();
    const turnId = await startTurn(client, threadId, 'call mcp__demo__write {"text":"data"}');
    const question = await client.asked();
    expect(question.params).toMatchObject({
      ...{ threadId, turnId, serverName: 'demo', mode: 'form', requestedSchema: { type: 'object', properties: {} } },
      _meta: { codex_approval_kind: 'mcp_tool_call', tool_name: 'write', tool_params: { text: 'data' } },
    });
    question.answer(answer);
    expect(await completed(client, turnId)).toMatchObject({ status: 'completed' });
    expect(await mcpItem(client, threadId)).toMatchObject(expected);
  });

  test('is not asked about again once it was accepted for the session', async () => {
    const { client, threadId } = await started();
    const turnId = await startTurn(
      client,
      threadId,
      'call mcp__demo__write {"text":"one"}\n\ncall mcp__demo__write {"text":"two"}',
    );
    const question = await client.asked();
    question.answer({ action: 'accept', content: {}, _meta: { persist: 'session' } });
    await completed(client, turnId);
    const made = client.news('item/completed').filter(({ item }) => item.type === 'mcpToolCall');
    expect(made.map(({ item }) => item.status)).toEqual(['completed', 'completed']);
  });

  test('is allowed by the configuration once it was accepted for good', async () => {
    const { server, client, threadId } = await started();
    const turnId = await startTurn(client, threadId, 'call mcp__demo__write {"text":"one"}');
    const question = await client.asked();
    expect(question.params._meta.persist).toEqual(['session', 'always']);
    question.answer({ action: 'accept', content: {}, _meta: { persist: 'always' } });
    await completed(client, turnId);
    const { config } = await client.request('config/read', {});
    expect(config.mcp_servers.demo.tools).toEqual({ write: { approval_mode: 'approve' } });
    const before = client.news(STATUS).length;
    await client.request('config/mcpServer/reload', {});
    expect(client.news(STATUS).slice(before)).not.toContainEqual(
      expect.objectContaining({ name: 'demo', status: 'starting' }),
    );
    const other = await startThread(client, { cwd: server.workspace, approvalPolicy: 'never' });
    await client.notified(STATUS, (params) => params.threadId === other && params.status === 'ready');
    await completed(client, await startTurn(client, other, 'call mcp__demo__write {"text":"two"}'));
    expect(await mcpItem(client, other)).toMatchObject({ status: 'completed' });
  });

  test.each([
    ['a thread has brought', { mine: demo }, 'mine'],
    ['a thread has in place of one that is configured', { demo: { ...demo, env: { OTHER: 'yes' } } }, 'demo'],
  ])('is not offered to be accepted for good for a server that %s', async (_, servers, name) => {
    const { client, server } = await started();
    const config = { mcp_servers: servers };
    const threadId = await startThread(client, { cwd: server.workspace, approvalPolicy: 'on-request', config });
    await client.notified(
      STATUS,
      (params) => params.threadId === threadId && params.name === name && params.status === 'ready',
    );
    const turnId = await startTurn(client, threadId, `call mcp__${name}__write {"text":"one"}`);
    const question = await client.asked();
    expect(question.params._meta.persist).toEqual(['session']);
    const [pending] = (await client.request('approval/pending', {})).data;
    expect(pending.availableDecisions).toEqual(['accept', 'acceptForSession', 'decline', 'cancel']);
    question.answer({ action: 'accept', content: {}, _meta: { persist: 'always' } });
    expect((await client.notified('warning')).message).toContain('to remember it in a way that was not offered');
    await completed(client, turnId);
    expect(await mcpItem(client, threadId)).toMatchObject({ status: 'completed' });
  });

  test('is refused under never, and allowed by the configuration', async () => {
    const tools = { write: { approval_mode: 'approve' } };
    const { client, threadId } = await started({ demo: { ...demo, tools } }, { approvalPolicy: 'never' });
    const first = await startTurn(client, threadId, 'call mcp__demo__slow {}');
    await completed(client, first);
    expect(await mcpItem(client, threadId)).toMatchObject({ status: 'failed', result: null });
    const second = await startTurn(client, threadId, 'call mcp__demo__write {"text":"x"}');
    await completed(client, second);
    expect(await mcpItem(client, threadId)).toMatchObject({ status: 'completed' });
  });

  test('shows progress, and an error of a tool is never a success', async () => {
    const full = { approvalPolicy: 'never', sandbox: 'danger-full-access' };
    const { client, threadId } = await started({ demo }, full);
    const turnId = await startTurn(
      client,
      threadId,
      'call mcp__demo__slow {}\n\ncall mcp__demo__fail {}\n\ncall mcp__demo__ask {}',
    );
    await completed(client, turnId);
    const messages = client.news('item/mcpToolCall/progress');
    expect(messages.map(({ message }) => message)).toEqual(['step 1', 'step 2', 'step 3']);
    const [slow, fail, ask] = (await itemsOf(client, threadId)).filter(({ type }) => type === 'mcpToolCall');
    expect(slow).toMatchObject({ status: 'completed' });
    expect(fail).toMatchObject({ status: 'failed', error: null, result: { content: [{ text: 'it failed' }] } });
    expect(ask).toMatchObject({ result: { content: [{ text: '{"action":"decline"}' }] } });
  });

  test('that was asked about before a restart is called when it is answered after it', async () => {
    const { server, client, threadId } = await started({ demo });
    const turnId = await startTurn(client, threadId, 'call mcp__demo__write {"text":"late"}');
    await client.asked();
    await server.restart();
    const again = await server.connect({ experimentalApi: true });
    await again.request('thread/resume', { threadId });
    const question = await again.asked();
    expect(question.params).toMatchObject({ turnId, serverName: 'demo' });
    question.answer({ action: 'accept', content: {} });
    expect(await completed(again, turnId)).toMatchObject({ status: 'completed' });
    expect(await mcpItem(again, threadId)).toMatchObject({ status: 'completed', error: null });
  });
});

test('a reload starts what is new, tries again what failed, and leaves the rest as it is', async () => {
  const { server, client, threadId } = await started();
  const demo2 = { ...demo, env: { OTHER: 'yes' } };
  await client.request('config/value/write', { keyPath: 'mcp_servers.demo2', value: demo2, mergeStrategy: 'upsert' });
  const before = client.transcript.length;
  expect(await client.request('config/mcpServer/reload', {})).toEqual({});
  await ready(client, 'demo2');
  const told = client.transcript.slice(before).filter(({ method }) => method === STATUS);
  const of = (name: string) => told.flatMap(({ params }) => (params.name === name ? [params.status] : []));
  expect(of('demo')).toEqual(['ready']);
  expect(of('demo2')).toEqual(['starting', 'ready']);
  expect(of('broken')[0]).toBe('starting');
  const { data } = await client.request('mcpServerStatus/list', { threadId, detail: 'toolsAndAuthOnly' });
  expect(data.map(({ name }: { name: string }) => name)).toEqual(['broken', 'demo', 'demo2', 'off']);
  await server.close();
});

test('another environment is unknown, never taken for this machine', async () => {
  const { client, threadId } = await started();
  const elsewhere = { environmentId: 'elsewhere', threadId };
  const calls: [string, object][] = [
    ['mcpServerStatus/list', elsewhere],
    ['mcpServer/tool/call', { ...elsewhere, server: 'demo', tool: 'echo', arguments: { text: 'hi' } }],
    ['mcpServer/resource/read', { ...elsewhere, server: 'demo', uri: 'demo://hello' }],
    ['mcpServer/oauth/login', { ...elsewhere, name: 'demo' }],
  ];
  for (const [method, params] of calls) {
    const { code, message, data } = await client.refusal(method, params);
    expect([code, message]).toEqual([-32004, `${method}: unknown environment id \`elsewhere\``]);
    expect(data).toMatchObject({ environmentId: 'elsewhere' });
  }
  const here = { environmentId: 'local', threadId };
  expect((await client.request('mcpServerStatus/list', here)).data).toHaveLength(3);
});
