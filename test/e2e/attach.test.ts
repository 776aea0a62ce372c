// `heddle attach`: a running turn is seen whole from any terminal, and whoever watches has no part in it.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Heddle } from '../../src/client/heddle.ts';
import { connect } from '../../src/client/local.ts';
import type { Thread } from '../../src/client/thread.ts';
import { Program, protocolLines, run, scratch, serve } from './executable.ts';
import { Terminal } from './terminal.ts';

const clients: Heddle[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

interface Place {
  readonly data: string;
  readonly folder: string;
  readonly server: Program;
  readonly client: Heddle;
  readonly thread: Thread;
  readonly attach: (...args: readonly string[]) => Program;
}

/** A server with a thread, and a client that leaves questions unanswered. */
async function aThread(): Promise<Place> {
  const [data, folder] = [scratch(), scratch()];
  const { program: server, address } = await serve(['--data-dir', data, '--listen', 'unix://']);
  const client = await connect({ name: 'e2e', version: '1', url: address });
  clients.push(client);
  client.onServerRequest('item/commandExecution/requestApproval', () => new Promise(() => {}));
  const thread = await client.thread({ cwd: folder });
  const attach = (...args: readonly string[]) => new Program(['attach', thread.id, '--data-dir', data, ...args]);
  return { data, folder, server, client, thread, attach };
}

const WORDS = (count: number): string => Array.from({ length: count }, (_, at) => `word${at + 1}`).join(' ');

/** Settles when that much has been said. */
async function spoken(turn: AsyncIterable<{ method: string; params: unknown }>, word: string): Promise<void> {
  for await (const { method, params } of turn)
    if (method === 'item/agentMessage/delta' && (params as { delta: string }).delta.includes(word)) return;
}

test('who comes in the middle sees the turn from its beginning to its end, each word once', async () => {
  const { data, thread, attach } = await aThread();
  await thread.turn('say before').completed;
  // The turn does not end before somebody has answered.
  await spoken(thread.turn('say 300 words at 100 a second\nrun! true\nsay over'), 'word40 ');
  const watching = attach();
  await watching.said('stdout', /word1 /);
  const [, id] = await watching.said('stderr', /approvals answer (\S+) /);
  await run(['approvals', 'answer', id!, 'accept', '--data-dir', data]);
  const { code, stdout, stderr } = await watching.ended;
  expect({ code, stdout: stdout.trim() }).toEqual({ code: 0, stdout: `${WORDS(300)} \nover` });
  expect(stderr).toContain('> say 300 words at 100 a second\n');
  expect(stderr).not.toContain('before');
});

test('a question is shown with the command that answers it, and waits for that', async () => {
  const { thread, folder, attach } = await aThread();
  const turn = thread.turn('run! touch made');
  const watching = attach();
  const [, command] = await watching.said('stderr', /^ {2}heddle (approvals answer \S+ accept.*)$/m);
  expect(watching.stderr).toContain('touch made');
  await watching.said('stderr', /^ {2}or with: acceptForSession, always, decline, cancel$/m);
  expect(existsSync(join(folder, 'made'))).toBe(false);
  expect(await run(command!.split(' '))).toMatchObject({ code: 0 });
  const { code, stderr } = await watching.ended;
  expect(code).toBe(0);
  expect(stderr).toContain('it has been answered');
  expect(existsSync(join(folder, 'made'))).toBe(true);
  expect(await turn.completed).toMatchObject({ status: 'completed' });
});

test('Ctrl-C leaves, and the turn goes on, its question too', async () => {
  const { data, thread, folder, client } = await aThread();
  const turn = thread.turn('run! touch made\nsay over');
  const { id } = await turn.started;
  const terminal = new Terminal(['attach', thread.id, '--data-dir', data]);
  const [, approval] = /approvals answer (\S+) /.exec(await terminal.shown(/approvals answer \S+ /))!;
  terminal.type('\u0003');
  expect(await terminal.ended).toBe(130);
  const { data: turns } = await client.request('thread/turns/list', { threadId: thread.id });
  expect(turns).toMatchObject([{ id, status: 'inProgress' }]);
  expect(await run(['approvals', 'answer', approval!, 'accept', '--data-dir', data])).toMatchObject({ code: 0 });
  expect(await turn.completed).toMatchObject({ status: 'completed' });
  expect(existsSync(join(folder, 'made'))).toBe(true);
});

test('where nothing runs it tells how the last turn ended', async () => {
  const { data, thread, attach } = await aThread();
  expect(await attach().ended).toMatchObject({ code: 0, stderr: 'nothing has run in this thread yet\n' });
  await thread.turn('say one').completed;
  expect(await attach().ended).toMatchObject({ code: 0, stderr: 'nothing runs; the last turn is complete\n' });
  await thread.turn('fail').completed;
  expect(await attach().ended).toMatchObject({ code: 1, stderr: expect.stringContaining('the last turn failed: ') });
  const hanging = thread.turn('hang');
  const watching = attach();
  await watching.said('stderr', /> hang\n/);
  await hanging.interrupt();
  expect(await watching.ended).toMatchObject({ code: 130, stderr: '> hang\nthe turn was interrupted\n' });
  const absent = await run(['attach', 'none', '--data-dir', data]);
  expect(absent).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^heddle: thread not found: none; `heddle threads list` shows/),
  });
});

test('what waits behind the turn is watched too; with --follow whatever comes', async () => {
  const { data, thread, client, attach } = await aThread();
  await thread.turn('run! printf first').started;
  const input = [{ type: 'text' as const, text: 'say queued' }];
  await client.request('turn/start', { threadId: thread.id, input, ifBusy: 'queue' });
  const [following, watching] = [attach('--follow'), attach()];
  const [, id] = await watching.said('stderr', /approvals answer (\S+) /);
  await following.said('stderr', /approvals answer/);
  await run(['approvals', 'answer', id!, 'accept', '--data-dir', data]);
  expect(await watching.ended).toMatchObject({ code: 0, stdout: 'Done.\nqueued\n' });
  await following.said('stdout', /queued\n/);
  await thread.turn('say later').completed;
  await following.said('stdout', /later\n/);
  await client.request('thread/archive', { threadId: thread.id });
  expect(await following.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('was archived') });
});

test('as JSON each event has its place, and a script goes on behind the one it has', async () => {
  const { thread, attach } = await aThread();
  await thread.turn('say one\nrun echo two').completed;
  const events = async (...args: readonly string[]) => protocolLines((await attach('--json', ...args).ended).stdout);
  const all = await events('--after', '0');
  expect(all.map(({ method }) => method)).toEqual(expect.arrayContaining(['turn/started', 'turn/completed']));
  const seqs = all.map(({ seq }) => Number(seq));
  expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
  expect(await events('--after', String(seqs[2]))).toEqual(all.slice(3));
  const beyond = await attach('--after', '99999').ended;
  expect(beyond).toMatchObject({ code: 1, stderr: expect.stringContaining('99999') });
  const turn = thread.turn('run! touch made');
  const watching = attach('--json');
  const [line] = await watching.said('stdout', /^.*requestApproval.*\n/m);
  expect(JSON.parse(line)).toMatchObject({
    params: { command: expect.any(String), heddle: { nonce: expect.any(String) } },
  });
  await turn.interrupt();
  expect(await watching.ended).toMatchObject({ code: 130 });
});

test('a server that is killed and started anew is found again, and tells how the turn ended', async () => {
  const { data, thread, server, attach } = await aThread();
  await spoken(thread.turn('say 100000 words at 50 a second'), 'word20 ');
  const watching = attach();
  await watching.said('stdout', /word20 /);
  server.child.kill('SIGKILL');
  await watching.said('stderr', /the connection is lost/);
  await serve(['--data-dir', data, '--listen', 'unix://']);
  const { code, stdout, stderr } = await watching.ended;
  expect({ code, stderr }).toEqual({
    code: 130,
    stderr: expect.stringMatching(/connected again\n[\s\S]*was interrupted\n$/),
  });
  const words = stdout.trim().split(' ');
  expect(words).toEqual(WORDS(words.length).split(' '));
});

test('a reader that has seen enough ends it quietly, and not the turn', async () => {
  const { thread, client, attach } = await aThread();
  const turn = thread.turn('say 100000 words at 100 a second');
  await turn.started;
  const watching = attach('--json');
  await watching.said('stdout', /agentMessage\/delta/);
  watching.child.stdout.destroy();
  expect(await watching.ended).toMatchObject({ code: 0, stderr: '' });
  const { data: turns } = await client.request('thread/turns/list', { threadId: thread.id });
  expect(turns).toMatchObject([{ status: 'inProgress' }]);
  await turn.interrupt();
  expect(await turn.completed).toMatchObject({ status: 'interrupted' });
});

test('over a WebSocket the token comes from the variable that is named', async () => {
  const data = scratch();
  const { address } = await serve(['--data-dir', data, '--listen', 'ws://127.0.0.1:0']);
  const token = readFileSync(join(data, 'ws-token'), 'utf8').trim();
  const client = await connect({ name: 'e2e', version: '1', url: address, token });
  clients.push(client);
  const thread = await client.thread({ cwd: scratch() });
  await thread.turn('say one').completed;
  const remote = ['attach', thread.id, '--remote', address];
  const named = [...remote, '--remote-auth-token-env', 'SECRET'];
  expect(await run(named, { environment: { SECRET: token } })).toMatchObject({ code: 0 });
  const refused = await run(named, { environment: { SECRET: 'wrong' } });
  expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining('refused the connection (401)') });
  expect(await run(remote)).toMatchObject({ code: 4, stderr: expect.stringContaining('--remote-auth-token-env') });
  expect(await run(named)).toMatchObject({ code: 2, stderr: expect.stringContaining('SECRET is empty') });
});

test('without a server it says what to do', async () => {
  const { code, stderr } = await run(['attach', 'x', '--data-dir', scratch()]);
  expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining('heddle app-server daemon start') });
});

test('who may only read threads watches all the same, and is not asked', async () => {
  const [data, folder] = [scratch(), scratch()];
  const secret = join(scratch(), 'secret');
  await run(['token', 'new', '--file', secret]);
  const auth = ['--ws-auth', 'signed-bearer-token', '--ws-shared-secret-file', secret];
  const { program, address } = await serve([
    '--data-dir',
    data,
    '--listen',
    'unix://',
    '--listen',
    'ws://127.0.0.1:0',
    ...auth,
  ]);
  const [, remote] = await program.said('stderr', /listening on: (ws:\S+)/);
  const { stdout: token } = await run([
    'token',
    'sign',
    '--secret-file',
    secret,
    '--sub',
    'x',
    '--scope',
    'thread:read',
  ]);
  const client = await connect({ name: 'e2e', version: '1', url: address });
  clients.push(client);
  const asked = new Promise<() => void>((resolve) => {
    client.onServerRequest('item/commandExecution/requestApproval', () => {
      return new Promise((answer) => resolve(() => answer({ decision: 'accept' })));
    });
  });
  const thread = await client.thread({ cwd: folder });
  await thread.turn('run! touch made\nsay seen').started;
  const accept = await asked;
  const flags = ['--remote', remote!, '--remote-auth-token-env', 'TOKEN'];
  const watching = new Program(['attach', thread.id, ...flags], { environment: { TOKEN: token.trim() } });
  await watching.said('stderr', /it waits for an approval that others may give/);
  accept();
  const { code, stdout, stderr } = await watching.ended;
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'seen\n' });
  expect(stderr).not.toContain('approvals answer');
});
