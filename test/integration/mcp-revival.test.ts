// MCP servers that end and come back: the next use connects anew, and what was under way ends at once.

import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { HttpMcpServer } from '../harness/http-mcp-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, startThread, startTurn } from '../harness/turns.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

const far = new HttpMcpServer();
afterEach(async () => {
  await cleanUp();
  await far.off();
  far.strangerStatus = 404;
});

const SCRIPT = fileURLToPath(new URL('../harness/hostile-mcp-server.mjs', import.meta.url));
const program = (manner: string) => ({ command: process.execPath, args: [SCRIPT, manner] });
const STATUS = 'mcpServer/startupStatus/updated';
const FULL = { approvalPolicy: 'never', sandbox: 'danger-full-access' };
const WORKED = { content: [{ type: 'text', text: 'worked' }] };

async function started(servers: object, clock = new ManualClock()) {
  const server = await startApp({ config: { mcp_servers: servers }, clock });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace, ...FULL });
  for (const name of Object.keys(servers)) await told(client, name, 'ready');
  return { server, client, threadId, clock };
}

const told = (client: TestClient, name: string, status: string) =>
  client.notified(STATUS, (params) => params.name === name && params.status === status);

const states = (client: TestClient, name: string) =>
  client.news(STATUS).flatMap((params) => (params.name === name ? [params.status] : []));

const call = (client: TestClient, threadId: string, server: string, tool = 'work') =>
  client.request('mcpServer/tool/call', { threadId, server, tool });

describe('a program that has exited', () => {
  test('is started again by the next call, and the others notice nothing', async () => {
    const { client, threadId } = await started({ one: program('good'), two: program('good') });
    await expect(call(client, threadId, 'one', 'die')).rejects.toThrow('exited with 3');
    await told(client, 'one', 'failed');
    const answers = await Promise.all([call(client, threadId, 'one'), call(client, threadId, 'one')]);
    expect(answers).toEqual([WORKED, WORKED]);
    expect(await call(client, threadId, 'two')).toEqual(WORKED);
    expect(states(client, 'one')).toEqual(['starting', 'ready', 'failed', 'starting', 'ready']);
    expect(states(client, 'two')).toEqual(['starting', 'ready']);
  });

  test('is started again by the model, which is offered its tools all the time', async () => {
    const { client, threadId } = await started({ one: program('good') });
    const turnId = await startTurn(client, threadId, 'call mcp__one__die {}\n\ncall mcp__one__work {}');
    await completed(client, turnId);
    const calls = (await itemsOf(client, threadId)).filter(({ type }) => type === 'mcpToolCall');
    expect(calls).toMatchObject([
      { tool: 'die', status: 'failed', outcome: 'unknown' },
      { tool: 'work', status: 'completed', error: null },
    ]);
  });

  test('is started again by the next turn', async () => {
    const { client, threadId } = await started({ one: program('good') });
    await expect(call(client, threadId, 'one', 'die')).rejects.toThrow();
    await completed(client, await startTurn(client, threadId, 'say hello'));
    expect(states(client, 'one')).toEqual(['starting', 'ready', 'failed', 'starting', 'ready']);
  });

  test('again and again is started later each time, and until then calls fail at once', async () => {
    const { client, threadId, clock } = await started({ one: program('good') });
    await expect(call(client, threadId, 'one', 'die')).rejects.toThrow();
    await expect(call(client, threadId, 'one', 'die')).rejects.toThrow('exited with 3');
    await expect(call(client, threadId, 'one')).rejects.toThrow('not tried again for 10 s');
    const before = states(client, 'one').length;
    await expect(call(client, threadId, 'one')).rejects.toThrow('exited with 3');
    expect(states(client, 'one')).toHaveLength(before);
    clock.advance(10_000);
    expect(await call(client, threadId, 'one')).toEqual(WORKED);
    await expect(call(client, threadId, 'one', 'die')).rejects.toThrow();
    await expect(call(client, threadId, 'one')).rejects.toThrow('not tried again for 20 s');
    clock.advance(20_000);
    await call(client, threadId, 'one');
    clock.advance(60_000);
    await expect(call(client, threadId, 'one', 'die')).rejects.toThrow();
    expect(await call(client, threadId, 'one')).toEqual(WORKED);
  });
});

test('a program that never was there is tried again, but not at every use', async () => {
  const clock = new ManualClock();
  const server = await startApp({ config: { mcp_servers: { gone: { command: '/nonexistent' } } }, clock });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace, ...FULL });
  await told(client, 'gone', 'failed');
  await expect(call(client, threadId, 'gone')).rejects.toThrow('not tried again for 5 s');
  expect(states(client, 'gone')).toEqual(['starting', 'failed']);
  clock.advance(5_000);
  await expect(call(client, threadId, 'gone')).rejects.toThrow('not tried again for 10 s');
  expect(states(client, 'gone')).toEqual(['starting', 'failed', 'starting', 'failed']);
});

describe('a server at an address', () => {
  test('that is gone is a state, and is there again when it is', async () => {
    await far.on();
    const { client, threadId, clock } = await started({ far: { url: far.url } });
    await far.off();
    await expect(call(client, threadId, 'far')).rejects.toThrow('ECONNREFUSED');
    await told(client, 'far', 'failed');
    await expect(call(client, threadId, 'far')).rejects.toThrow('ECONNREFUSED');
    await far.on();
    await expect(call(client, threadId, 'far')).rejects.toThrow('not tried again for 10 s');
    clock.advance(10_000);
    expect(await call(client, threadId, 'far')).toEqual(WORKED);
  });

  test.each([404, 400])('that was started anew and answers with %s is called in a new session', async (status) => {
    far.strangerStatus = status;
    await far.on();
    const before = far.sessions;
    const { client, threadId } = await started({ far: { url: far.url } });
    await far.off();
    await far.on();
    expect(await call(client, threadId, 'far')).toEqual(WORKED);
    expect(states(client, 'far')).toEqual(['starting', 'ready', 'failed', 'starting', 'ready']);
    await far.off();
    await far.on();
    expect(far.sessions).toBe(before + 2);
    await expect(call(client, threadId, 'far')).rejects.toThrow('not tried again for 10 s');
  });

  test('that was started anew is asked for resources once more', async () => {
    await far.on();
    const { client, threadId } = await started({ far: { url: far.url } });
    await far.off();
    await far.on();
    const read = { threadId, server: 'far', uri: 'far://one' };
    expect(await client.request('mcpServer/resource/read', read)).toMatchObject({ contents: [{ text: 'read' }] });
  });

  test('that dies while it answers ends the call at once, its outcome not known', async () => {
    await far.on();
    const { client, threadId } = await started({ far: { url: far.url } });
    const turnId = await startTurn(client, threadId, 'call mcp__far__hang {}');
    await client.notified('item/mcpToolCall/progress');
    await far.off();
    // The clock stands still: no time limit of ours has ended it.
    await completed(client, turnId);
    const item = (await itemsOf(client, threadId)).findLast(({ type }) => type === 'mcpToolCall');
    expect(item).toMatchObject({
      status: 'failed',
      outcome: 'unknown',
      error: { message: expect.stringContaining('cut off') },
    });
  });
});
