// MCP servers of the worst kind: what one of them does is its own trouble, and nobody waits for it.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { programsWith } from '../harness/processes.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, startThread, startTurn } from '../harness/turns.ts';
import { eventually } from '../unit/children/waiting.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

const listeners: Server[] = [];
afterEach(async () => {
  await cleanUp();
  for (const each of listeners.splice(0)) {
    each.closeAllConnections();
    each.close();
  }
});

const SCRIPT = fileURLToPath(new URL('../harness/hostile-mcp-server.mjs', import.meta.url));
const hostile = (manner: string, more: object = {}) => ({ command: process.execPath, args: [SCRIPT, manner], ...more });
const STATUS = 'mcpServer/startupStatus/updated';
const FULL = { approvalPolicy: 'never', sandbox: 'danger-full-access' };

const told = (client: TestClient, name: string, status: string) =>
  client.notified(STATUS, (params) => params.name === name && params.status === status);

async function started(servers: object, clock?: ManualClock) {
  const server = await startApp({ config: { mcp_servers: servers }, ...(clock ? { clock } : {}) });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace, ...FULL });
  return { server, client, threadId };
}

const call = (client: TestClient, threadId: string, tool: string, name = 'bad') =>
  client.request('mcpServer/tool/call', { threadId, server: name, tool });

async function listening(answer: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(answer);
  listeners.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

async function lastCall(client: TestClient, threadId: string) {
  return (await itemsOf(client, threadId)).findLast(({ type }) => type === 'mcpToolCall');
}

test('an event without end is cut off', async () => {
  let written = 0;
  const endless = await listening((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const line = `data: ${'x'.repeat(64 * 1024)}\n`;
    const write = (): void => {
      while (!response.destroyed && written < 64 * 1024 * 1024) {
        written += line.length;
        if (!response.write(line)) return void response.once('drain', write);
      }
    };
    write();
  });
  const { client } = await started({ bad: { url: endless } });
  const { error } = await told(client, 'bad', 'failed');
  expect(error).toContain('a message of more than');
  expect(written).toBeLessThan(64 * 1024 * 1024);
});

test('servers that never answer keep nobody waiting', async () => {
  const clock = new ManualClock();
  const silent = await listening(() => {});
  const trickle = await listening((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{');
  });
  const servers = {
    mute: hostile('mute'),
    mute2: hostile('mute'),
    sleeper: { command: 'sleep', args: ['600'] },
    silent: { url: silent },
    trickle: { url: trickle },
  };
  // The clock stands still: whatever waited for a server would wait for ever.
  const { server, client, threadId } = await started(servers, clock);
  const turnId = await startTurn(client, threadId, 'say hello');
  const more = await Promise.all(Array.from({ length: 4 }, () => startThread(client, { cwd: server.workspace })));
  expect(new Set(more).size).toBe(4);
  await eventually('the turn', () => {
    clock.advance(100);
    return client.news('turn/completed').some(({ turn }) => turn.id === turnId);
  });
  expect(client.news(STATUS).filter(({ status }) => status !== 'starting')).toEqual([]);
  clock.advance(10_000);
  for (const name of Object.keys(servers))
    expect(await told(client, name, 'failed')).toMatchObject({ error: expect.stringContaining('timed out') });
  const { data } = await client.request('mcpServerStatus/list', { threadId });
  expect(data.every(({ heddle }: { heddle: { connected: boolean } }) => !heddle.connected)).toBe(true);
});

test('an interrupt ends a turn that waits for a server it needs', async () => {
  const { client, threadId } = await started({ mute: hostile('mute', { required: true }) }, new ManualClock());
  const turnId = await startTurn(client, threadId, 'say hello');
  await client.request('turn/interrupt', { threadId, turnId });
  expect(await completed(client, turnId)).toMatchObject({ status: 'interrupted' });
});

test('a server that is required and not there ends the turn with its name', async () => {
  const { client, threadId } = await started({ gone: { command: '/nonexistent', required: true } });
  const turn = await completed(client, await startTurn(client, threadId, 'say hello'));
  expect(turn).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('gone') } });
});

test('what some servers do is nothing to the others', async () => {
  const names = ['banner', 'stderr', 'good', 'many'];
  const broken = ['endless', 'closed'];
  const servers = Object.fromEntries([...names, ...broken].map((name) => [name, hostile(name)]));
  const { client, threadId } = await started(servers);
  for (const name of names) await told(client, name, 'ready');
  for (const name of broken) await told(client, name, 'failed');
  for (const name of ['banner', 'stderr', 'good'])
    expect(await call(client, threadId, 'work', name)).toEqual({ content: [{ type: 'text', text: 'worked' }] });
  const { data } = await client.request('mcpServerStatus/list', { threadId, serverName: 'many' });
  expect(Object.keys(data[0].tools)).toEqual(['same']);
});

describe('a call', () => {
  test.each([
    ['an answer that comes twice, its id as a text', 'twice', { content: [{ type: 'text', text: 'first' }] }],
    ['an image', 'image', { content: [{ text: 'a dot' }, { type: 'image' }] }],
  ])('%s', async (_, tool, expected) => {
    const { client, threadId } = await started({ bad: hostile('good') });
    expect(await call(client, threadId, tool)).toMatchObject(expected);
    expect(await call(client, threadId, 'work')).toMatchObject({ content: [{ text: 'worked' }] });
  });

  test('with an answer of no form is no success', async () => {
    const { client, threadId } = await started({ bad: hostile('good') });
    await told(client, 'bad', 'ready');
    const turnId = await startTurn(client, threadId, 'call mcp__bad__wrong {}\n\ncall mcp__bad__work {}');
    expect(await completed(client, turnId)).toMatchObject({ status: 'completed' });
    const calls = (await itemsOf(client, threadId)).filter(({ type }) => type === 'mcpToolCall');
    expect(calls.map(({ status }) => status)).toEqual(['failed', 'completed']);
  });

  test('shows progress that comes in one breath with the answer', async () => {
    const { client, threadId } = await started({ bad: hostile('good') });
    await told(client, 'bad', 'ready');
    await completed(client, await startTurn(client, threadId, 'call mcp__bad__progress {}'));
    const messages = client.news('item/mcpToolCall/progress').map(({ message }) => message);
    expect(messages).toEqual(['step 1', 'step 2']);
  });

  test('with megabytes of an answer keeps its beginning and says so', async () => {
    const { client, threadId } = await started({ bad: hostile('good') });
    const { content } = await call(client, threadId, 'flood');
    expect(JSON.stringify(content).length).toBeLessThan(5 * 1024 * 1024);
    expect(content.at(0).text).toContain('characters left out');
  });

  test('of a server that exits fails at once, and its outcome is not known', async () => {
    const { client, threadId } = await started({ bad: hostile('good'), other: hostile('good') }, new ManualClock());
    for (const name of ['bad', 'other']) await told(client, name, 'ready');
    const turnId = await startTurn(client, threadId, 'call mcp__bad__die {}\n\ncall mcp__other__work {}');
    await completed(client, turnId);
    const calls = (await itemsOf(client, threadId)).filter(({ type }) => type === 'mcpToolCall');
    expect(calls).toMatchObject([
      { status: 'failed', outcome: 'unknown', error: { message: expect.stringContaining('exited with 3') } },
      { status: 'completed', server: 'other' },
    ]);
    await told(client, 'bad', 'failed');
    expect(await call(client, threadId, 'work')).toMatchObject({ content: [{ text: 'worked' }] });
  });

  test('that is silent for too long is given up', async () => {
    const clock = new ManualClock();
    const { client, threadId } = await started({ bad: hostile('good', { tool_timeout_sec: 5 }) }, clock);
    await told(client, 'bad', 'ready');
    const turnId = await startTurn(client, threadId, 'call mcp__bad__hang {}');
    await client.notified('item/started', ({ item }) => item.type === 'mcpToolCall');
    await eventually('the end', () => {
      clock.advance(1_000);
      return client.news('turn/completed').some(({ turn }) => turn.id === turnId);
    });
    expect(await lastCall(client, threadId)).toMatchObject({
      ...{ status: 'failed', outcome: 'unknown' },
      error: { message: expect.stringContaining('no word for 5 seconds') },
    });
  });

  test('that is interrupted is cancelled at its server, and ends as not known', async () => {
    const { client, threadId } = await started({ bad: hostile('good') });
    await told(client, 'bad', 'ready');
    const turnId = await startTurn(client, threadId, 'call mcp__bad__hang {}');
    await client.notified('item/started', ({ item }) => item.type === 'mcpToolCall');
    const answer = await client.request('turn/interrupt', { threadId, turnId });
    expect(answer).toEqual({ physicallySettled: true });
    expect(await lastCall(client, threadId)).toMatchObject({ status: 'failed', outcome: 'unknown' });
    expect(await call(client, threadId, 'count')).toMatchObject({ content: [{ text: '2 made, 1 cancelled' }] });
  });

  test('that is interrupted waits two seconds for a server that does not hear', async () => {
    const clock = new ManualClock();
    const { client, threadId } = await started({ bad: hostile('deaf') }, clock);
    await told(client, 'bad', 'ready');
    const turnId = await startTurn(client, threadId, 'call mcp__bad__hang {}');
    await client.notified('item/started', ({ item }) => item.type === 'mcpToolCall');
    client.post('turn/interrupt', { threadId, turnId });
    await client.request('thread/loaded/list', {});
    expect(client.news('turn/completed')).toEqual([]);
    await eventually('the end', () => {
      clock.advance(500);
      return client.news('turn/completed').length > 0;
    });
    expect(await lastCall(client, threadId)).toMatchObject({ status: 'failed', outcome: 'unknown' });
  });
});

test('of questions without end eight stand, and the others are declined', async () => {
  const { client, threadId } = await started({ bad: hostile('good') });
  await told(client, 'bad', 'ready');
  await client.request('thread/resume', { threadId, approvalPolicy: 'on-request' });
  const nagging = call(client, threadId, 'nag');
  const asked = () => client.questions().filter(({ method }) => method === 'mcpServer/elicitation/request');
  await client.message(() => asked().length === 8, 'eight questions');
  for (const { id } of asked()) client.send({ id, result: { action: 'accept', content: {} } });
  expect(await nagging).toMatchObject({ content: [{ text: '12 declined' }] });
  expect(asked()).toHaveLength(8);
});

test('a list that changes is followed', async () => {
  const { client, threadId } = await started({ bad: hostile('grows') });
  await call(client, threadId, 'first');
  await eventually('the second tool', async () => {
    const { data } = await client.request('mcpServerStatus/list', { threadId });
    return Object.keys(data[0].tools).includes('second');
  });
  await completed(client, await startTurn(client, threadId, 'call mcp__bad__second {}'));
  expect(await lastCall(client, threadId)).toMatchObject({ tool: 'second', status: 'completed' });
});

test('a list of tools that is too large is not kept: not at the start, and not later', async () => {
  const { client, threadId } = await started({ wordy: hostile('wordy'), bad: hostile('swells') });
  const { error } = await told(client, 'wordy', 'failed');
  expect(error).toContain('it lists tools of more than 4194304 bytes');
  await call(client, threadId, 'swell');
  const status = async (serverName: string) =>
    (await client.request('mcpServerStatus/list', { threadId, serverName })).data[0];
  await eventually('the error', async () => String((await status('bad')).toolsError).includes('4194304 bytes'));
  expect(Object.keys((await status('bad')).tools)).toEqual(['swell']);
  expect((await status('wordy')).tools).toEqual({});
  expect(await call(client, threadId, 'swell')).toMatchObject({ content: [{ text: 'worked' }] });
});

describe('what a server is given', () => {
  test('is the plain environment and what the configuration names', async () => {
    process.env.HEDDLE_TEST_SECRET_TOKEN = 'marker-1';
    process.env.HEDDLE_TEST_NAMED_TOKEN = 'marker-2';
    const more = { env: { OWN: 'marker-3' }, env_vars: ['HEDDLE_TEST_NAMED_TOKEN'] };
    const { client, threadId } = await started({ bad: hostile('good', more) });
    const { content } = await call(client, threadId, 'environment');
    delete process.env.HEDDLE_TEST_SECRET_TOKEN;
    delete process.env.HEDDLE_TEST_NAMED_TOKEN;
    expect(content[0].text).toContain('marker-2');
    expect(content[0].text).toContain('marker-3');
    expect(content[0].text).not.toContain('marker-1');
    const { config } = await client.request('config/read', {});
    expect(JSON.stringify(config.mcp_servers)).not.toContain('marker-3');
  });

  test('over HTTP are the headers of the configuration, the token by the name of its variable', async () => {
    const seen: (string | undefined)[] = [];
    const url = await listening((request, response) => {
      seen.push(request.headers.authorization);
      if (request.headers.authorization !== 'Bearer marker-4') return void response.writeHead(401).end();
      if (request.method !== 'POST') return void response.writeHead(405).end();
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        const { id, method } = JSON.parse(body);
        if (id === undefined) return void response.writeHead(202).end();
        const tools = [{ name: 'far', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }];
        const results: Record<string, object> = {
          initialize: {
            protocolVersion: '2025-06-18',
            capabilities: { tools: {} },
            serverInfo: { name: 'far', version: '1' },
          },
          'tools/list': { tools },
          'tools/call': { content: [{ type: 'text', text: 'from afar' }] },
        };
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }));
      });
    });
    process.env.HEDDLE_TEST_FAR = 'marker-4';
    const far = { url, bearer_token_env_var: 'HEDDLE_TEST_FAR' };
    const { client, threadId } = await started({
      far,
      stranger: { url },
      unset: { url, bearer_token_env_var: 'NOT_SET' },
    });
    expect(await call(client, threadId, 'far', 'far')).toEqual({ content: [{ type: 'text', text: 'from afar' }] });
    delete process.env.HEDDLE_TEST_FAR;
    expect(await told(client, 'stranger', 'failed')).toMatchObject({ failureReason: 'reauthenticationRequired' });
    expect(await told(client, 'unset', 'failed')).toMatchObject({ error: expect.stringContaining('NOT_SET') });
    const { data } = await client.request('mcpServerStatus/list', { threadId });
    expect(data).toMatchObject([
      { name: 'far', authStatus: 'bearerToken', runtimeStatus: 'connected', httpOrigin: new URL(url).origin },
      { name: 'stranger', authStatus: 'notLoggedIn', runtimeStatus: 'authenticationRequired' },
      { name: 'unset', runtimeStatus: 'failed' },
    ]);
  });
});

test('programs of servers end with their thread, with a reload that leaves them out, and with the server', async () => {
  const mark = `mark-${process.pid}-${Date.now()}`;
  const marked = { command: process.execPath, args: [SCRIPT, 'child', mark] };
  const { server, client, threadId } = await started({ one: marked, two: marked });
  for (const name of ['one', 'two']) await told(client, name, 'ready');
  expect(programsWith(mark)).toBe(2);
  const other = await startThread(client, { cwd: server.workspace });
  // Both: one that is still starting may be forking its child, which then bears the mark too for a moment.
  for (const name of ['one', 'two'])
    await client.notified(
      STATUS,
      (params) => params.threadId === other && params.name === name && params.status === 'ready',
    );
  expect(programsWith(mark)).toBe(4);
  for (let at = 0; at < 5; at++) await client.request('config/mcpServer/reload', {});
  expect(programsWith(mark)).toBe(4);
  await client.request('config/value/write', { keyPath: 'mcp_servers.two', value: null, mergeStrategy: 'replace' });
  await client.request('config/mcpServer/reload', {});
  await eventually('two to end', () => programsWith(mark) === 2);
  await client.request('thread/delete', { threadId: other });
  await eventually('those of the thread to end', () => programsWith(mark) === 1);
  expect(threadId).not.toBe(other);
  await server.close();
  expect(programsWith(mark)).toBe(0);
});
