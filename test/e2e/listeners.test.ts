// The executable on sockets: each transport, several at once, who is let in, and one server to a data directory.

import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import WebSocket from 'ws';
import { type Client, connect, paramsOf } from '../../src/client/client.ts';
import { reach } from '../../src/client/node.ts';
import { turnCompleted } from '../../src/threads/notifications.ts';
import { threadRead, threadResume, threadStart } from '../../src/threads/thread-methods.ts';
import { turnStart } from '../../src/threads/turn-methods.ts';
import { INITIALIZE, Program, run, scratch, serve, text } from './executable.ts';

async function client(address: string, token?: string): Promise<Client> {
  return connect(await reach(address, { token }), { name: 'e2e', version: '1', experimentalApi: true });
}

/** Runs a turn on a new thread; resolves with the thread's id when the turn has completed. */
async function turnOver(with_: Client, prompt: string): Promise<string> {
  const notifications = with_.notifications();
  const { thread } = await with_.request(threadStart, { cwd: scratch() });
  await with_.request(turnStart, { threadId: thread.id, input: text(prompt) });
  for await (const notification of notifications) {
    const ended = paramsOf(notification, turnCompleted);
    if (ended) {
      expect(ended.turn.status).toBe('completed');
      return thread.id;
    }
  }
  throw new Error('the connection ended before the turn');
}

const tokenIn = (file: string): string => readFileSync(file, 'utf8').trim();

test('owner.json has what docs/local-gui.md shows of it, in that order', async () => {
  const data = scratch();
  await serve(['--backend', 'mock', '--listen', 'ws://127.0.0.1:0', '--data-dir', data]);
  const page = readFileSync(new URL('../../docs/local-gui.md', import.meta.url), 'utf8');
  const shown = JSON.parse(/^\{\n {2}"pid".*?^\}$/ms.exec(page)![0]) as object;
  const written = JSON.parse(readFileSync(join(data, 'owner.json'), 'utf8')) as object;
  expect(Object.keys(written)).toEqual(Object.keys(shown));
});

test('a WebSocket listener makes a token, names its file and never the token', async () => {
  const data = scratch();
  const { program, address } = await serve(['--listen', 'ws://127.0.0.1:0', '--data-dir', data]);
  const [, file] = await program.said('stderr', /token file: (.+)\n/);
  expect(statSync(file!).mode & 0o777).toBe(0o600);
  expect(program.stderr).not.toContain(tokenIn(file!));
  expect(program.stdout).toBe('');
  await expect(reach(address)).rejects.toMatchObject({ kind: 'unauthenticated' });
  await expect(reach(address, { token: 'wrong' })).rejects.toMatchObject({ kind: 'unauthenticated' });
  await expect(reach(address.replace('ws:', 'wss:'))).rejects.toThrow('it does not answer in TLS');
  const one = await client(address, tokenIn(file!));
  await turnOver(one, 'say hello');
  program.child.kill('SIGTERM');
  expect(await one.closed).toMatchObject({ text: 'the server stops' });
  expect(await program.ended).toMatchObject({ code: 0, stdout: '' });
});

test('a Unix socket speaks lines and WebSocket, and is gone after the end', async () => {
  const folder = scratch();
  const path = join(folder, 'heddle.sock');
  const { program, address } = await serve(['--listen', `unix://${path}`, '--data-dir', scratch()]);
  expect(address).toBe(`unix://${path}`);
  const lines = await client(address);
  const threadId = await turnOver(lines, 'say by lines');
  const ws = new WebSocket(`ws+unix://${path}:/`);
  await new Promise((resolve, reject) => ws.once('open', resolve).once('error', reject));
  const answered = new Promise<{ id: string; result: object }>((resolve) =>
    ws.once('message', (data) => resolve(JSON.parse(String(data)))),
  );
  ws.send(JSON.stringify(INITIALIZE));
  expect(await answered).toMatchObject({ id: 'init', result: { server: { name: 'heddle' } } });
  ws.close();
  expect((await lines.request(threadRead, { threadId })).thread.id).toBe(threadId);
  program.child.kill('SIGTERM');
  expect((await program.ended).code).toBe(0);
  expect(() => statSync(path)).toThrow('ENOENT');
});

test('a client of the socket that ends its input is answered first', async () => {
  const path = join(scratch(), 'heddle.sock');
  const { program } = await serve(['--listen', `unix://${path}`, '--data-dir', scratch()]);
  const socket = createConnection({ path, allowHalfOpen: true });
  socket.end(`${JSON.stringify(INITIALIZE)}\n`);
  const lines: string[] = [];
  for await (const line of createInterface({ input: socket })) lines.push(line);
  expect(JSON.parse(lines[0]!)).toMatchObject({ id: 'init' });
  program.child.kill('SIGTERM');
  expect((await program.ended).code).toBe(0);
});

test('one process serves several addresses, and all see the same threads', async () => {
  const data = scratch();
  const args = ['--listen', 'ws://127.0.0.1:0', '--listen', 'unix://', '--stdio', '--data-dir', data];
  const { program, address } = await serve(args);
  const socket = `unix://${join(data, 'app-server-control', 'app-server-control.sock')}`;
  await program.said('stderr', new RegExp(`listening on: ${socket}\n`));
  const web = await client(address, tokenIn(join(data, 'ws-token')));
  const local = await client(socket);
  const threadId = await turnOver(web, 'say hello');
  const { thread } = await local.request(threadResume, { threadId });
  expect(thread.id).toBe(threadId);
  program.write(INITIALIZE, { id: 5, method: 'thread/read', params: { threadId } });
  await program.said('stdout', new RegExp(`"id":5,"result".*${threadId}`));
  // The end of one client's input is not the end of the others' server.
  program.child.stdin.end();
  await new Promise((resolve) => program.child.stdout.once('end', resolve));
  expect((await web.request(threadRead, { threadId })).thread.id).toBe(threadId);
  program.child.kill('SIGINT');
  expect((await program.ended).code).toBe(0);
});

test('a second server on the data directory names the first and ends', async () => {
  const data = scratch();
  const { program, address } = await serve(['--listen', 'ws://127.0.0.1:0', '--data-dir', data]);
  const second = await run(['app-server', '--data-dir', data]);
  expect(second.code).toBe(1);
  expect(second.stdout).toBe('');
  expect(second.stderr).toContain(`pid ${program.child.pid}`);
  expect(second.stderr).toContain(address);
  const status = await run(['app-server', 'status', '--json', '--data-dir', data]);
  expect(status.code).toBe(0);
  expect(JSON.parse(status.stdout)).toMatchObject({
    running: true,
    pid: program.child.pid,
    endpoints: [{ address, answers: true }],
  });
  program.child.kill('SIGTERM');
  await program.ended;
  const after = await run(['app-server', 'status', '--data-dir', data]);
  expect(after).toMatchObject({ code: 1, stdout: `no server runs on ${data}\n` });
});

test('off listens nowhere and waits for a signal', async () => {
  const data = scratch();
  const program = new Program(['app-server', '--listen', 'off', '--data-dir', data]);
  await program.said('stderr', /not listening/);
  program.child.stdin.end();
  const { stdout } = await run(['app-server', 'status', '--data-dir', data]);
  expect(stdout).toContain(`pid ${program.child.pid}`);
  program.child.kill('SIGTERM');
  expect(await program.ended).toMatchObject({ code: 0, stdout: '' });
});

test('a token of `heddle token sign` opens a signed-bearer listener, within its permissions', async () => {
  const folder = scratch();
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'a shared secret of more than thirty-two bytes\n', { mode: 0o600 });
  const auth = ['--ws-auth', 'signed-bearer-token', '--ws-shared-secret-file', secret, '--ws-issuer', 'e2e'];
  const { program, address } = await serve(['--listen', 'ws://127.0.0.1:0', ...auth, '--data-dir', scratch()]);
  const sign = async (...more: string[]) => {
    const { code, stdout, stderr } = await run(['token', 'sign', '--secret-file', secret, '--sub', 'someone', ...more]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout.trim();
  };
  const full = await client(address, await sign('--issuer', 'e2e', '--scope', 'thread:read,thread:write'));
  await turnOver(full, 'say hello');
  const reader = await client(address, await sign('--issuer', 'e2e', '--scope', 'thread:read'));
  await expect(reader.request(threadStart, {})).rejects.toThrow('thread:write');
  await expect(reach(address, { token: await sign('--issuer', 'other') })).rejects.toThrow('issuer mismatch');
  program.child.kill('SIGTERM');
  expect((await program.ended).code).toBe(0);
});

test('a token of `heddle token new` opens a capability listener', async () => {
  const file = join(scratch(), 'token');
  const made = await run(['token', 'new', '--file', file]);
  expect(made.code).toBe(0);
  expect(made.stdout).not.toContain(tokenIn(file));
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const sha256 = /sha256: ([\da-f]{64})/.exec(made.stdout)![1]!;
  const auth = ['--ws-auth', 'capability-token', '--ws-token-sha256', sha256];
  const { address } = await serve(['--listen', 'ws://127.0.0.1:0', ...auth, '--data-dir', scratch()]);
  await turnOver(await client(address, tokenIn(file)), 'say hello');
  const again = await run(['token', 'new', '--file', file]);
  expect(again.code).toBe(1);
  expect(again.stderr).toContain('left as it is');
});
