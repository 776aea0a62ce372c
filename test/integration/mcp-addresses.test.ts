// An MCP server that asks people to go to an address: shown with who asks and what for, answered once, and over with whoever asked or was asked.

import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';

import { cleanUp, type StartOptions, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { startThread } from '../harness/turns.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

const SERVER = fileURLToPath(new URL('../harness/hostile-mcp-server.mjs', import.meta.url));
const tickets = { command: process.execPath, args: [SERVER, 'visits'] };

async function started(options: StartOptions = {}) {
  const server = await startApp({ transport: 'unix', config: { mcp_servers: { tickets } }, ...options });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace, approvalPolicy: 'on-request' });
  await client.notified('mcpServer/startupStatus/updated', ({ status }) => status === 'ready');
  return { server, client, threadId };
}

const call = (client: TestClient, threadId: string, tool: string) =>
  client.request('mcpServer/tool/call', { threadId, server: 'tickets', tool, arguments: {} });

/** What the server was told, which it answers the call with. */
const told = async (calling: ReturnType<typeof call>) => JSON.parse((await calling).content[0].text);

test.each([
  [{ action: 'accept', content: {} }, { action: 'accept' }],
  [{ action: 'decline', content: null }, { action: 'decline' }],
  [{ action: 'cancel', content: null }, { action: 'cancel' }],
  [{ action: 'perhaps' }, { action: 'decline' }],
])('is shown with source and purpose, and %j is told as %j', async (answer, expected) => {
  const { client, threadId } = await started();
  const calling = call(client, threadId, 'visit');
  const question = await client.asked();
  expect(question.method).toBe('mcpServer/elicitation/request');
  expect(question.params).toEqual({
    ...{ threadId, turnId: null, serverName: 'tickets', environmentId: null, _meta: null },
    ...{ mode: 'url', url: 'https://tickets.example/sign-in?state=1', elicitationId: 'visit-1' },
    message: 'Sign in to see your tickets',
    heddle: expect.objectContaining({ itemId: null, nonce: expect.any(String), expiresAt: expect.any(Number) }),
  });
  expect(client.news('thread/status/changed').at(-1)).toMatchObject({
    status: { type: 'active', activeFlags: ['waitingOnApproval'] },
  });
  question.answer(answer);
  expect(await told(calling)).toEqual(expected);
  expect(client.news('serverRequest/resolved')).toEqual([{ threadId, requestId: question.id }]);
  expect(client.news('thread/status/changed').at(-1)).toMatchObject({ status: { type: 'idle' } });
});

test('an address that no browser should open is declined, and nobody is asked', async () => {
  const { client, threadId } = await started();
  expect(await told(call(client, threadId, 'visit-script'))).toEqual({ action: 'decline' });
  expect(client.transcript.filter(({ method }) => method === 'mcpServer/elicitation/request')).toEqual([]);
});

test('time that runs out declines', async () => {
  const clock = new ManualClock(Date.now());
  const { client, threadId } = await started({ clock });
  const calling = call(client, threadId, 'visit');
  const question = await client.asked();
  clock.advance(25 * 60 * 60 * 1000);
  expect(await told(calling)).toEqual({ action: 'decline' });
  await client.notified('serverRequest/resolved', ({ requestId }) => requestId === question.id);
});

test('who could answer leaves: another one still can, and with nobody there it stands for who comes', async () => {
  const { server, client, threadId } = await started();
  const other = await server.connect({ experimentalApi: true });
  await other.request('thread/resume', { threadId });
  const calling = call(other, threadId, 'visit');
  await client.asked();
  const question = await other.asked();
  client.wire.end();
  question.answer({ action: 'accept', content: {} });
  expect(await told(calling)).toEqual({ action: 'accept' });
  const third = await server.connect({ experimentalApi: true });
  const alone = call(third, threadId, 'visit');
  await other.asked(({ elicitationId }) => elicitationId === 'visit-2');
  other.wire.end();
  const late = await server.connect({ experimentalApi: true });
  await late.request('thread/resume', { threadId });
  (await late.asked()).answer({ action: 'accept' });
  expect(await told(alone)).toEqual({ action: 'accept' });
});

test('the server that asked is gone: over, and the call has failed', async () => {
  const { client, threadId } = await started();
  const calling = call(client, threadId, 'visit').catch((error: Error) => error.message);
  const question = await client.asked();
  await call(client, threadId, 'die').catch(() => {});
  await client.notified('serverRequest/resolved', ({ requestId }) => requestId === question.id);
  expect(await calling).toContain('the server is gone');
});

test('the server says that it is done: nobody is asked any more, and nothing was said', async () => {
  const { client, threadId } = await started();
  const calling = call(client, threadId, 'visit');
  const question = await client.asked();
  await call(client, threadId, 'finish');
  expect(await told(calling)).toEqual({ action: 'cancel' });
  expect(client.news('serverRequest/resolved')).toEqual([{ threadId, requestId: question.id }]);
  // What comes when nothing stands changes nothing.
  await call(client, threadId, 'finish');
  const again = call(client, threadId, 'visit');
  (await client.asked(({ elicitationId }) => elicitationId === 'visit-2')).answer({ action: 'accept', content: {} });
  expect(await told(again)).toEqual({ action: 'accept' });
});
