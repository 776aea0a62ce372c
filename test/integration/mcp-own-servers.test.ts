// MCP servers that a client gives to one thread: over those that are configured, of that thread alone, and never from afar.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { PERMISSIONS } from '../../src/auth/principal.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const demo = { command: process.execPath, args: [join(ROOT, 'conformance/kit/mcp-server.mjs')] };
const STATUS = 'mcpServer/startupStatus/updated';

async function started() {
  const server = await startApp({ config: { mcp_servers: { demo } } });
  const client = await server.connect({ experimentalApi: true });
  const start = (config: object) =>
    startThread(client, { cwd: server.workspace, approvalPolicy: 'on-request', config });
  return { server, client, start };
}

const told = (client: TestClient, threadId: string, name: string, status = 'ready') =>
  client.notified(STATUS, (params) => params.threadId === threadId && params.name === name && params.status === status);

async function serversOf(client: TestClient, threadId?: string) {
  const { data } = await client.request('mcpServerStatus/list', { threadId, detail: 'toolsAndAuthOnly' });
  return data.map((each: { name: string; heddle: { enabled: boolean } }) =>
    each.heddle.enabled ? each.name : `${each.name} (off)`,
  );
}

const call = (client: TestClient, threadId: string, server: string) =>
  client.request('mcpServer/tool/call', { threadId, server, tool: 'echo', arguments: { text: 'hi' } });

test('servers given at the start are those of the thread, by dotted keys or tables, beside the configured ones', async () => {
  const { server, client, start } = await started();
  const dotted = await start({ 'mcp_servers.mine': demo });
  const nested = await start({ mcp_servers: { demo: { enabled: false }, third: demo } });
  await told(client, dotted, 'mine');
  await told(client, nested, 'third');
  expect(await call(client, dotted, 'mine')).toMatchObject({ structuredContent: { echoed: 'hi' } });
  expect(await serversOf(client, dotted)).toEqual(['demo', 'mine']);
  expect(await serversOf(client, nested)).toEqual(['demo (off)', 'third']);
  expect(await serversOf(client)).toEqual(['demo']);
  await client.request('config/mcpServer/reload', {});
  expect(await serversOf(client, dotted)).toEqual(['demo', 'mine']);
  const { thread } = await client.request('thread/fork', { threadId: dotted });
  expect(await serversOf(client, thread.id)).toEqual(['demo']);
  const { config } = await client.request('config/read', { cwd: server.workspace });
  expect(Object.keys(config.mcp_servers)).toEqual(['demo']);
});

test('servers are given to a fork, and to a thread that is resumed and idle', async () => {
  const { client, start } = await started();
  const threadId = await start({});
  const { thread } = await client.request('thread/fork', { threadId, config: { 'mcp_servers.mine': demo } });
  await told(client, thread.id, 'mine');
  expect(await serversOf(client, threadId)).toEqual(['demo']);
  await told(client, threadId, 'demo');
  const before = client.news(STATUS).length;
  await client.request('thread/resume', { threadId, config: { 'mcp_servers.late': demo } });
  await told(client, threadId, 'late');
  expect(client.news(STATUS).slice(before)).not.toContainEqual(
    expect.objectContaining({ threadId, name: 'demo', status: 'starting' }),
  );
  const turnId = await startTurn(client, threadId, 'call mcp__late__write {"text":"x"}');
  const question = await client.asked();
  const config = { 'mcp_servers.later': demo };
  const refusal = await client.refusal('thread/resume', { threadId, config });
  expect(refusal.data).toMatchObject({ kind: 'conflict', notApplied: ['mcp_servers'] });
  // To allow it for good is not offered: that would have to be written to the file, where the server is not.
  expect(JSON.stringify(question.params)).not.toContain('always');
  question.answer({ action: 'accept', content: {}, _meta: { persist: 'always' } });
  await completed(client, turnId);
  const [item] = (await itemsOf(client, threadId)).filter(({ type }) => type === 'mcpToolCall');
  expect(item).toMatchObject({ server: 'late', status: 'completed' });
  expect(client.news('warning')).toContainEqual(
    expect.objectContaining({ message: expect.stringContaining('in a way that was not offered') }),
  );
  expect(await serversOf(client)).toEqual(['demo']);
});

test.each([
  [{ mcp_servers: { bad: { enabled: 'maybe' } } }, 'mcp_servers.bad.enabled'],
  [{ mcp_servers: { bad: {} } }, 'in `mcp_servers.bad`'],
  [{ 'mcp_servers.bad.command': 5 }, 'mcp_servers.bad.command'],
  [{ mcp_servers: 'all' }, 'mcp_servers'],
])('what no server can be made of is refused: %j', async (config, message) => {
  const { server, client } = await started();
  const refusal = await client.refusal('thread/start', { cwd: server.workspace, config });
  expect(refusal.message).toContain('failed to load configuration');
  expect(refusal.message).toContain(message);
});

test('nobody from afar has a server run, whatever they may do else', async () => {
  const { server, start } = await started();
  const threadId = await start({});
  const permissions = new Set(PERMISSIONS);
  const far = await server.connectAs({ tenant: 'local', subject: 'far', permissions, isLocal: false });
  const config = { mcp_servers: { mine: demo } };
  for (const [method, params] of [
    ['thread/start', { config }],
    ['thread/resume', { threadId, config }],
    ['thread/fork', { threadId, config: { 'mcp_servers.demo.command': 'other' } }],
  ] as const) {
    const refusal = await far.refusal(method, params);
    expect([method, refusal.data.kind, refusal.message.includes('mcp_servers')]).toEqual([method, 'forbidden', true]);
  }
});
