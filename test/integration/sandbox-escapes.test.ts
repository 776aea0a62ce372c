// Commands of one thread that prepare the way out of the sandbox for the next one, and what comes of it.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { responses, startModelServer, stream } from '../harness/model-server.ts';
import { trySandbox } from '../harness/sandbox.ts';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, runTurn, startThread, startTurn } from '../harness/turns.ts';
import { eventually, isRunning, pidsIn } from '../unit/children/waiting.ts';

const state = await trySandbox();
if (!state.isAvailable) console.warn(`SKIPPED, no sandbox here: ${state.reason}; ${state.advice}`);

afterEach(cleanUp);

const CONFINED = { sandbox: 'workspace-write', approvalPolicy: 'never' };

async function outputsOf(client: TestClient, threadId: string): Promise<string[]> {
  const items = await itemsOf(client, threadId);
  return items.filter(({ type }) => type === 'commandExecution').map((item) => item.aggregatedOutput ?? '');
}

/** A socket of somebody else on this machine. */
async function listening(path: string): Promise<{ guests(): number; close(): void }> {
  let guests = 0;
  const server = createServer((socket) => {
    guests += 1;
    socket.end('hello');
  }).listen(path);
  await new Promise((resolve) => server.once('listening', resolve));
  return { guests: () => guests, close: () => void server.close() };
}

/** A line that says CONNECTED if it gets through to the socket. */
const knock = (path: string): string =>
  `python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("${path}"); print("CONNECTED")' 2>&1 | tail -1`;

describe.skipIf(!state.isAvailable)('a thread in the sandbox', () => {
  test('cannot turn the folder between two roots elsewhere', async () => {
    const server = await startApp();
    const client = await server.connect({ experimentalApi: true });
    const inner = join(server.workspace, 'x', 'pkg');
    mkdirSync(inner, { recursive: true });
    const victim = await temporaryFolder();
    const roots = { cwd: inner, runtimeWorkspaceRoots: [server.workspace] };
    const threadId = await startThread(client, { ...CONFINED, ...roots });
    const turn = `run cd ${server.workspace}; mv x y; mkdir x; ln -s ${victim} x/pkg\n\nrun echo out > ${victim}/out; pwd -P`;
    await runTurn(client, threadId, turn);
    const [moved, written] = await outputsOf(client, threadId);
    expect(moved).toContain('busy');
    expect(written).toContain(inner);
    expect(existsSync(join(victim, 'out'))).toBe(false);
  });

  test('is refused when another thread has turned its root elsewhere, and the model is told', async () => {
    const server = await startApp();
    const client = await server.connect();
    const inner = join(server.workspace, 'x', 'pkg');
    mkdirSync(inner, { recursive: true });
    const victim = await temporaryFolder();
    const [outer, nested] = [
      await startThread(client, { ...CONFINED, cwd: server.workspace }),
      await startThread(client, { ...CONFINED, cwd: inner }),
    ];
    await runTurn(client, nested, 'run echo before');
    await runTurn(client, outer, `run mv x y; mkdir x; ln -s ${victim} x/pkg`);
    await runTurn(client, nested, 'run echo out > out');
    const items = (await itemsOf(client, nested)).filter(({ type }) => type === 'commandExecution');
    expect(items.at(-1)).toMatchObject({
      status: 'failed',
      exitCode: -1,
      aggregatedOutput: expect.stringMatching(/^refused by the sandbox: .*no longer leads where it did/),
    });
    expect(existsSync(join(victim, 'out'))).toBe(false);
  });

  test('keeps the meaning of its root over a restart, although it never ran a command and the root is named again', async () => {
    const server = await startApp();
    let client = await server.connect();
    const inner = join(server.workspace, 'x', 'pkg');
    mkdirSync(inner, { recursive: true });
    const victim = await temporaryFolder();
    const outer = await startThread(client, { ...CONFINED, cwd: server.workspace });
    const nested = await startThread(client, { ...CONFINED, cwd: inner });
    await runTurn(client, nested, 'say nothing yet');
    await runTurn(client, outer, `run mv x y; mkdir x; ln -s ${victim} x/pkg`);
    await server.restart();
    client = await server.connect();
    await client.request('thread/resume', { threadId: nested });
    await runTurn(client, nested, 'run echo out > out', { cwd: inner });
    expect((await outputsOf(client, nested))[0]).toMatch(/no longer leads where it did/);
    expect(existsSync(join(victim, 'out'))).toBe(false);
    const renamed = await startThread(client, { ...CONFINED, cwd: join(server.workspace, 'y', 'pkg') });
    await runTurn(client, renamed, 'run echo in > in');
    expect(existsSync(join(server.workspace, 'y/pkg/in'))).toBe(true);
  });

  test('cannot bring the data directory below its workspace to light by renaming what it lies in', async () => {
    const workspace = await temporaryFolder();
    const dataDirectory = join(workspace, 'app', 'data');
    mkdirSync(dataDirectory, { recursive: true });
    const server = await startApp({ dataDirectory });
    const client = await server.connect();
    const threadId = await startThread(client, { ...CONFINED, cwd: workspace });
    await runTurn(
      client,
      threadId,
      'run ls -A app/data; mv app app2\n\nrun cat app*/data/config.yaml; touch app/beside',
    );
    const outputs = await outputsOf(client, threadId);
    expect(outputs[0]).toContain('busy');
    expect(outputs.join()).not.toContain('backend');
    expect(existsSync(dataDirectory)).toBe(true);
    expect(existsSync(join(workspace, 'app', 'beside'))).toBe(true);
  });

  test('cannot reach the socket of the server in its workspace, before or after a rename', async () => {
    const server = await startApp({ transport: 'unix-lines' });
    const client = await server.connect();
    const socket = join(server.workspace, 'app', 's.sock');
    mkdirSync(dirname(socket));
    const door = await listening(socket);
    server.app.hide(socket);
    const threadId = await startThread(client, { ...CONFINED, cwd: server.workspace });
    await runTurn(client, threadId, `run ${knock(socket)}; mv app app2\n\nrun ${knock('app2/s.sock')}`);
    door.close();
    expect((await outputsOf(client, threadId)).join()).not.toContain('CONNECTED');
    expect(door.guests()).toBe(0);
  });

  test('is refused while a path that must not be seen is missing', async () => {
    const server = await startApp();
    const client = await server.connect();
    const token = join(server.workspace, 'token');
    server.app.hide(token);
    const threadId = await startThread(client, { ...CONFINED, cwd: dirname(token) });
    await runTurn(client, threadId, 'run echo ran > ran');
    expect((await outputsOf(client, threadId))[0]).toMatch(/must not see, is missing/);
    writeFileSync(token, 'secret');
    await runTurn(client, threadId, 'run cat token; echo ran > ran');
    expect((await outputsOf(client, threadId))[1]).not.toContain('secret');
    expect(existsSync(join(dirname(token), 'ran'))).toBe(true);
  });

  test('has no hooks planted where there is no repository, and leaves no trace of that', async () => {
    const server = await startApp();
    const client = await server.connect();
    const { workspace } = server;
    const threadId = await startThread(client, { ...CONFINED, cwd: workspace });
    const names = ['.git', '.agents', '.codex', '.heddle'];
    const plant = names.map((name) => `mkdir -p ${name}/hooks && echo evil > ${name}/hooks/post-checkout`).join('; ');
    await runTurn(
      client,
      threadId,
      `run ${plant}\n\nrun rmdir .git; mv .git other; ln -s /tmp .git; touch .codex/x; echo ok > ok`,
    );
    expect(readFileSync(join(workspace, 'ok'), 'utf8')).toBe('ok\n');
    await eventually('that the names are free again', () => names.every((name) => !existsSync(join(workspace, name))));
    expect(existsSync(join(workspace, 'other'))).toBe(false);
  });

  test('sees nothing of a folder of sockets: neither as working folder of a call, nor as its workspace', async () => {
    const sockets = await temporaryFolder();
    const door = await listening(join(sockets, 'x.sock'));
    const call = responses.call('call_1', 'exec_command', { cmd: knock(join(sockets, 'x.sock')), workdir: sockets });
    const turn = [stream([responses.created(), call, responses.completed()]), stream(responses.say('no'))];
    const model = await startModelServer(...turn, ...turn);
    const server = await startApp({ backend: model });
    const client = await server.connect();
    for (const cwd of [server.workspace, sockets]) {
      const threadId = await startThread(client, { sandbox: 'read-only', approvalPolicy: 'never', cwd });
      await runTurn(client, threadId, 'knock');
      expect((await outputsOf(client, threadId))[0]).toMatch(/^refused by the sandbox: /);
    }
    await model.close();
    expect(JSON.stringify(model.requests[1]?.body)).toContain('refused by the sandbox');
    expect(door.guests()).toBe(0);
    door.close();
  });

  test.each(['/run', '/tmp'])('does not get %s as its workspace', async (cwd) => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client, { sandbox: 'read-only', approvalPolicy: 'never', cwd });
    await runTurn(client, threadId, 'run ls');
    expect((await outputsOf(client, threadId))[0]).toContain('cannot be a workspace');
  });
});

test('an interrupt is settled only when what a command left behind is gone, long after the command', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client, { sandbox: 'danger-full-access', cwd: server.workspace });
  const pids = join(server.workspace, 'pids');
  const leftover = `(trap "" TERM; echo $BASHPID > ${pids}; while :; do sleep 0.05; done) >/dev/null 2>&1 &`;
  const turnId = await startTurn(client, threadId, `run ${leftover} until [ -s ${pids} ]; do sleep 0.01; done\nhang`);
  await client.notified('item/completed', ({ item }) => item.type === 'commandExecution');
  expect(await client.request('turn/interrupt', { threadId, turnId })).toEqual({ physicallySettled: true });
  const [pid] = await pidsIn(pids, 1);
  expect(isRunning(pid as number)).toBe(false);
  await completed(client, turnId);
});

test.each(['workspace-write', 'danger-full-access'] as const)(
  'a command under %s has no descriptor of the server, not even of its history',
  async (sandbox) => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client, { ...CONFINED, sandbox, cwd: server.workspace });
    const others =
      'for each in /proc/$$/fd/*; do [ $(basename $each) -ge 3 ] && readlink $each; done; echo that is all';
    await runTurn(client, threadId, `run ${others}`);
    const [output = ''] = await outputsOf(client, threadId);
    expect(output).toContain('that is all');
    const links = output.split('\n').filter((link) => link.startsWith('/') && link !== '/dev/null');
    expect(links).toEqual([]);
  },
);
