// What was stopped is stopped, also what has left session, environment and parent behind: for every owner and every way to stop.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { bystandersOfFile, canBeFound, escapes, goneAll, toldIn } from '../harness/escapes.ts';
import { BARE, bash, exited } from '../harness/processes.ts';
import { cleanUp, type RunningApp, startApp, temporaryFolder } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { completed, runTurn, startThread, startTurn } from '../harness/turns.ts';
import { eventually, isRunning, pidsIn } from '../unit/children/waiting.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

const FULL = { sandbox: 'danger-full-access', approvalPolicy: 'never' };

const bystanders = bystandersOfFile();
let server: RunningApp;
let client: TestClient;
let file: string;

beforeEach(() => begin());

afterEach(async () => {
  await cleanUp();
  for (const pid of toldIn(file).filter(isRunning)) process.kill(pid, 'SIGKILL'); // only where a test has failed
  expect(bystanders()).toEqual([true, true]);
});

async function begin(options: Parameters<typeof startApp>[0] = {}): Promise<void> {
  server = await startApp(options);
  client = await server.connect({ experimentalApi: true });
  file = join(server.workspace, 'pids');
}

/** A line that starts two of them and goes on. */
const line = (): string => `${escapes(file)} sleep 600`;

/** They run. */
const away = (): Promise<number[]> => pidsIn(file, 2);

const thread = (): Promise<string> => startThread(client, { ...FULL, cwd: server.workspace });

const spawned = (more: object = {}) =>
  client.request('process/spawn', { cwd: server.workspace, processHandle: 'p', command: bash(line()), ...more });

describe.skipIf(!canBeFound)('a program of a client', () => {
  test.each([false, true])('process/kill, with a terminal: %s', async (tty) => {
    await spawned({ tty, timeoutMs: null });
    await away();
    await client.request('process/kill', { processHandle: 'p' });
    await exited(client, 'p');
    await goneAll(file);
  });

  test('command/exec/terminate', async () => {
    const run = client.request('command/exec', {
      ...BARE,
      command: bash(line()),
      processId: 'p',
      disableTimeout: true,
    });
    await away();
    await client.request('command/exec/terminate', { processId: 'p' });
    expect(await run).toMatchObject({ exitCode: 137 });
    await goneAll(file);
  });

  test('the time limit of command/exec', async () => {
    await server.close();
    const clock = new ManualClock();
    await begin({ clock });
    const run = client.request('command/exec', { ...BARE, command: bash(line()), timeoutMs: 200 });
    await away();
    clock.advance(200);
    expect(await run).toMatchObject({ exitCode: 124 });
    await goneAll(file);
  });

  test('the exit of the program', async () => {
    const command = bash(`${escapes(file)} until [ $(wc -l <${file}) = 2 ]; do sleep 0.01; done`);
    expect(await client.request('command/exec', { ...BARE, command })).toMatchObject({ exitCode: 0 });
    expect(toldIn(file)).toHaveLength(2);
    await goneAll(file);
  });

  test('the end of the connection', async () => {
    await spawned({ timeoutMs: null });
    await away();
    client.wire.cut();
    await goneAll(file);
  });

  test('the end of the server', async () => {
    await spawned({ timeoutMs: null });
    const pids = await away();
    await server.close();
    expect(pids.filter(isRunning)).toEqual([]);
  });
});

describe.skipIf(!canBeFound)('a command of a thread', () => {
  test('turn/interrupt is settled when they are gone', async () => {
    const threadId = await thread();
    const turnId = await startTurn(client, threadId, `run ${line()}`);
    const pids = await away();
    expect(await client.request('turn/interrupt', { threadId, turnId })).toEqual({ physicallySettled: true });
    expect(pids.filter(isRunning)).toEqual([]);
    expect((await completed(client, turnId)).status).toBe('interrupted');
  });

  test('turn/interrupt of a command of the user', async () => {
    const threadId = await thread();
    await client.request('thread/shellCommand', { threadId, command: line() });
    await away();
    await client.request('turn/interrupt', { threadId, turnId: '' });
    await goneAll(file);
  });

  test('a turn that ends by itself leaves none', async () => {
    const threadId = await thread();
    const turn = await runTurn(
      client,
      threadId,
      `run ${escapes(file)} until [ $(wc -l <${file}) = 2 ]; do sleep 0.01; done`,
    );
    expect(turn.status).toBe('completed');
    expect(toldIn(file)).toHaveLength(2);
    await goneAll(file);
  });

  async function leftRunning(): Promise<string> {
    const threadId = await thread();
    expect((await runTurn(client, threadId, `leave ${line()}`)).status).toBe('completed');
    expect((await away()).every(isRunning)).toBe(true);
    return threadId;
  }

  test('thread/backgroundTerminals/terminate', async () => {
    const threadId = await leftRunning();
    const { data } = await client.request('thread/backgroundTerminals/list', { threadId });
    const { processId } = data[0];
    await client.request('thread/backgroundTerminals/terminate', { threadId, processId });
    expect(toldIn(file).filter(isRunning)).toEqual([]);
  });

  test('thread/backgroundTerminals/clean', async () => {
    const threadId = await leftRunning();
    await client.request('thread/backgroundTerminals/clean', { threadId });
    expect(toldIn(file).filter(isRunning)).toEqual([]);
  });

  test.each(['thread/archive', 'thread/delete'])('%s', async (method) => {
    const threadId = await leftRunning();
    await client.request(method, { threadId });
    expect(toldIn(file).filter(isRunning)).toEqual([]);
  });

  test('the end of the server', async () => {
    await leftRunning();
    await server.close();
    expect(toldIn(file).filter(isRunning)).toEqual([]);
  });
});

const MCP_SERVER = fileURLToPath(new URL('../harness/hostile-mcp-server.mjs', import.meta.url));

describe.skipIf(!canBeFound)('what an MCP server has left behind', () => {
  async function withServer(): Promise<string> {
    await server.close();
    const marks = await temporaryFolder();
    const pids = join(marks, 'pids');
    const args = ['-c', `${escapes(pids)} exec ${process.execPath} ${MCP_SERVER} good`];
    await begin({ config: { mcp_servers: { bad: { command: '/bin/bash', args } }, idle_unload_seconds: 60 }, clock });
    file = pids;
    const threadId = await thread();
    await away();
    return threadId;
  }
  let clock: ManualClock;
  beforeEach(() => {
    clock = new ManualClock();
  });

  test('ends with its thread', async () => {
    const threadId = await withServer();
    await client.request('thread/delete', { threadId });
    await goneAll(file);
  });

  test('ends when the thread has been idle for long', async () => {
    const threadId = await withServer();
    await client.request('thread/unsubscribe', { threadId });
    await eventually('the end of its time', () => {
      clock.advance(60_000);
      return client.news('thread/closed').length > 0;
    });
    await goneAll(file);
  });

  test('ends with the server', async () => {
    await withServer();
    await server.close();
    expect(toldIn(file).filter(isRunning)).toEqual([]);
  });
});
