// The client library against the built server over standard streams, the Unix socket and WebSockets.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { Heddle } from '../../src/client/heddle.ts';
import { connect, type Way } from '../../src/client/local.ts';
import { connect as connectWeb } from '../../src/client/web.ts';
import type { SocketClass } from '../../src/client/web-socket.ts';
import { cuttingProxy } from '../harness/cutting-proxy.ts';
import { EXECUTABLE, scratch, serve } from './executable.ts';

const clients: Heddle[] = [];
const proxies: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  for (const close of proxies.splice(0)) await close();
});

const INTRODUCTION = { name: 'e2e', version: '1.0.0' };

async function kept(connecting: Promise<Heddle>): Promise<Heddle> {
  const client = await connecting;
  clients.push(client);
  return client;
}

function spawned(data: string): Way {
  const home = scratch();
  const args = [EXECUTABLE, 'app-server', '--backend', 'mock', '--data-dir', data];
  return { spawn: { command: process.execPath, args, cwd: home, env: { PATH: process.env.PATH, HOME: home } } };
}

const processOf = (data: string): number =>
  (JSON.parse(readFileSync(join(data, 'owner.json'), 'utf8')) as { pid: number }).pid;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** One turn with a message, and a request that changes something. */
async function tryOut(client: Heddle): Promise<void> {
  const thread = await client.thread({ cwd: scratch() });
  await client.request('thread/name/set', { threadId: thread.id, name: 'tried' });
  const turn = thread.turn('say Good morning to you');
  const items: string[] = [];
  for await (const item of turn.items()) items.push(item.type === 'agentMessage' ? item.text : item.type);
  expect(items).toEqual(['userMessage', 'Good morning to you']);
  expect(await turn.completed).toMatchObject({ id: turn.id, status: 'completed' });
  expect(client.mutations).toEqual([]);
  const options = { idempotencyKey: `once-${thread.id}` };
  const [once, twice] = [
    await thread.turn('say once', options).completed,
    await thread.turn('say once', options).completed,
  ];
  expect(twice).toMatchObject({ id: once.id, status: 'completed' });
  const hanging = thread.turn('hang');
  await hanging.interrupt();
  expect(await hanging.completed).toMatchObject({ status: 'interrupted' });
}

test('over standard streams: the server is started, told its folder, and gone at the end', async () => {
  const data = scratch();
  const client = await kept(connect({ ...INTRODUCTION, ...spawned(data) }));
  expect(client.server.codexHome).toBe(data);
  const pid = processOf(data);
  expect(isAlive(pid)).toBe(true);
  await tryOut(client);
  await client.close();
  expect(isAlive(pid)).toBe(false);
});

test('folder, state directory and queue cap of the server are those it was started with', async () => {
  const [folder, stateDirectory] = [scratch(), join(scratch(), 'state')];
  const env = { PATH: process.env.PATH, HOME: scratch() };
  const args = [EXECUTABLE, 'app-server', '--backend', 'mock'];
  const spawn = { command: process.execPath, args, cwd: folder, env, stateDirectory };
  const capped = await kept(
    connect({ ...INTRODUCTION, spawn: { ...spawn, serverQueueCap: 2 }, maxOverloadRetries: 0, drainMs: 0 }),
  );
  expect(capped.server).toMatchObject({ codexHome: stateDirectory, server: { limits: { requestsInFlight: 2 } } });
  expect((await capped.thread()).started).toMatchObject({ cwd: folder });
  const leaving = new AbortController();
  const sleeping = [1, 2].map(() =>
    capped.request('command/exec', { command: ['sleep', '60'] }, { signal: leaving.signal }).catch(() => 'left'),
  );
  const beyond = capped.request('thread/list', {});
  await expect(beyond).rejects.toMatchObject({ code: -32001, data: { retry_after_ms: expect.any(Number) } });
  leaving.abort();
  expect(await Promise.all(sleeping)).toEqual(['left', 'left']);
  await capped.close();
  const usual = await kept(connect({ ...INTRODUCTION, spawn }));
  expect(usual.server.server.limits.requestsInFlight).toBe(256);
});

test('a server that cannot start says why, and one that is not there is not waited for', async () => {
  const args = [EXECUTABLE, 'app-server', '--no-such-flag'];
  const said = connect({ ...INTRODUCTION, spawn: { command: process.execPath, args } });
  await expect(said).rejects.toThrow(/it said: [\s\S]*no-such-flag/);
  const absent = connect({ ...INTRODUCTION, spawn: { command: '/no/such/program' } });
  await expect(absent).rejects.toThrow('cannot start /no/such/program');
  await expect(connect({ ...INTRODUCTION, socket: join(scratch(), 'none') })).rejects.toThrow('cannot connect');
});

test('over the Unix socket', async () => {
  const socket = join(scratch(), 's');
  await serve(['--listen', `unix://${socket}`]);
  await tryOut(await kept(connect({ ...INTRODUCTION, socket })));
});

test('over WebSockets, with the token as a header and, as browsers do, as a sub-protocol', async () => {
  const data = scratch();
  const { address: url } = await serve(['--listen', 'ws://127.0.0.1:0', '--data-dir', data]);
  const token = readFileSync(join(data, 'ws-token'), 'utf8').trim();
  await tryOut(await kept(connect({ ...INTRODUCTION, url, token })));
  const socketClass = WebSocket as unknown as SocketClass;
  await tryOut(await kept(connectWeb({ ...INTRODUCTION, url, token, socketClass })));
  await expect(connect({ ...INTRODUCTION, url, token: 'wrong' })).rejects.toMatchObject({ kind: 'unauthenticated' });
});

test('a question reaches its handler, and what has none is declined', async () => {
  const data = scratch();
  const client = await kept(connect({ ...INTRODUCTION, ...spawned(data) }));
  const workspace = scratch();
  const thread = await client.thread({ cwd: workspace, approvalPolicy: 'on-request' });
  const refused = new Promise((resolve) => client.on('refused', resolve));
  expect(await thread.turn('run! touch one').completed).toMatchObject({ status: 'completed' });
  expect(await refused).toMatchObject({ because: 'noHandler' });
  client.onServerRequest('item/commandExecution/requestApproval', ({ cwd }) => ({
    decision: cwd === workspace ? 'accept' : 'decline',
  }));
  expect(await thread.turn('run! touch two').completed).toMatchObject({ status: 'completed' });
  expect([existsSync(join(workspace, 'one')), existsSync(join(workspace, 'two'))]).toEqual([false, true]);
});

test('a stream that is cut again and again is one stream, and changes are made once', async () => {
  const socket = join(scratch(), 's');
  await serve(['--listen', `unix://${socket}`]);
  const limits = [1_500, 2_500, 4_000, 3_000, 6_000, 5_000, 2_000, 7_777];
  const path = join(scratch(), 'p');
  const proxy = await cuttingProxy(path, socket, () => {
    const toClient = limits.shift() ?? Number.POSITIVE_INFINITY;
    return { toServer: Number.POSITIVE_INFINITY, toClient };
  });
  proxies.push(() => proxy.close());
  const client = await kept(connect({ ...INTRODUCTION, socket: path, reconnect: { firstMs: 5, longestMs: 50 } }));
  const thread = await client.thread({ cwd: scratch() });
  const events = thread.events();
  const turn = thread.turn('say 400 words at 100 a second');
  let text = '';
  const seqs: number[] = [];
  for await (const news of turn) {
    if (news.method === 'item/agentMessage/delta') text += news.params.delta;
    if (news.seq !== undefined) seqs.push(news.seq);
  }
  expect(text.trimEnd()).toBe(Array.from({ length: 400 }, (_, at) => `word${at + 1}`).join(' '));
  expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
  expect(proxy.connections()).toBeGreaterThan(4);
  const { thread: stored } = await client.request('thread/read', { threadId: thread.id, includeTurns: true });
  expect(stored.turns).toHaveLength(1);
  await events.return?.();
});

test('a server that is killed is started anew; the turn is told as interrupted, and the next one runs', async () => {
  const data = scratch();
  const client = await kept(connect({ ...INTRODUCTION, ...spawned(data) }));
  const thread = await client.thread({ cwd: scratch() });
  const turn = thread.turn('hang');
  await turn.started;
  const pid = processOf(data);
  process.kill(pid, 'SIGKILL');
  expect(await turn.completed).toMatchObject({ status: 'interrupted' });
  expect(processOf(data)).not.toBe(pid);
  expect(await thread.turn('say again').completed).toMatchObject({ status: 'completed' });
  const next = processOf(data);
  await client.close();
  expect([pid, next].map(isAlive)).toEqual([false, false]);
});
