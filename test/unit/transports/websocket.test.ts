// The WebSocket listener from outside: handshakes, probes, limits, pings and deadlines.

import { createHmac } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { type AuthFlags, webSocketGuard } from '../../../src/auth/policy.ts';
import type { Principal } from '../../../src/auth/principal.ts';
import { deferred } from '../../../src/base/signals.ts';
import { type Connection, FRAME_LIMIT } from '../../../src/transports/connection.ts';
import { listenOnWebSocket } from '../../../src/transports/websocket.ts';
import { ManualClock } from './manual-clock.ts';

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  await Promise.all(cleanups.splice(0).map((clean) => clean()));
});

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

interface Accepted {
  readonly connection: Connection;
  readonly principal: Principal;
}

async function serve(flags: AuthFlags = { wsAuth: 'none' }, host = '127.0.0.1') {
  const clock = new ManualClock();
  const guard = await webSocketGuard(host, flags, { dataDirectory: await temporary(), clock });
  const waiting: ((accepted: Accepted) => void)[] = [];
  const queue: Accepted[] = [];
  const listen = listenOnWebSocket({ host, port: 0, guard, clock });
  const listener = await listen((connection, principal) => {
    cleanups.push(() => connection.close());
    const next = waiting.shift();
    if (next) next({ connection, principal });
    else queue.push({ connection, principal });
  });
  cleanups.push(() => listener.close());
  const port = Number(new URL(listener.address).port);
  const next = (): Promise<Accepted> =>
    queue.length > 0 ? Promise.resolve(queue.shift() as Accepted) : new Promise((resolve) => waiting.push(resolve));
  return { clock, listener, port, next };
}

/** A raw TCP client: everything that it gets until the server closes. */
function raw(port: number, text: string): { readonly socket: Socket; readonly answer: Promise<string> } {
  const socket = connect(port, '127.0.0.1');
  cleanups.push(() => socket.destroy());
  const answer = deferred<string>();
  let got = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    got += chunk;
  });
  socket.on('error', () => {});
  socket.on('close', () => answer.resolve(got));
  socket.write(text);
  return { socket, answer: answer.promise };
}

const statusOf = (answer: string): number => Number(answer.split(' ', 2)[1]);

const request = async (port: number, line: string, headers: readonly string[] = ['Host: localhost']) =>
  raw(port, [`${line} HTTP/1.1`, ...headers, '', ''].join('\r\n')).answer;

const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
];

/** Status of an upgrade with these headers; 101 as soon as it is granted. */
async function upgrade(port: number, headers: readonly string[], path = '/'): Promise<string> {
  const { socket, answer } = raw(port, [`GET ${path} HTTP/1.1`, ...UPGRADE, ...headers, '', ''].join('\r\n'));
  const granted = new Promise<string>((resolve) => {
    socket.on('data', (chunk: Buffer | string) => {
      if (String(chunk).startsWith('HTTP/1.1 101')) resolve(String(chunk));
    });
  });
  return Promise.race([answer, granted]);
}

interface Client {
  readonly ws: WebSocket;
  readonly closed: Promise<{ readonly code: number; readonly text: string }>;
}

async function dial(
  port: number,
  options: { protocols?: string[]; autoPong?: boolean; token?: string } = {},
): Promise<Client> {
  const ws = new WebSocket(`ws://127.0.0.1:${port}/any/path`, options.protocols ?? [], {
    autoPong: options.autoPong ?? true,
    ...(options.token === undefined ? {} : { headers: { Authorization: `Bearer ${options.token}` } }),
  });
  cleanups.push(() => ws.terminate());
  const closed = deferred<{ code: number; text: string }>();
  ws.on('close', (code, text) => closed.resolve({ code, text: text.toString() }));
  const opened = deferred();
  ws.on('open', () => opened.resolve());
  ws.on('error', (error) => opened.reject(error));
  await opened.promise;
  return { ws, closed: closed.promise };
}

async function firstFrame(connection: Connection): Promise<unknown> {
  return (await connection.frames[Symbol.asyncIterator]().next()).value;
}

describe('health probes and plain HTTP', () => {
  it('answer who is alive and nothing else (BC-34)', async () => {
    const { port } = await serve();
    for (const path of ['/healthz', '/readyz', '/readyz?x=1']) {
      for (const verb of ['GET', 'HEAD']) {
        const answer = await request(port, `${verb} ${path}`);
        expect(statusOf(answer)).toBe(200);
        expect(answer.split('\r\n\r\n')[1]).toBe('');
      }
      expect(statusOf(await request(port, `POST ${path}`))).toBe(405);
      expect(statusOf(await request(port, `OPTIONS ${path}`))).toBe(405);
      expect(statusOf(await request(port, `GET ${path}`, ['Host: localhost', 'Origin: http://evil.example']))).toBe(
        403,
      );
    }
    expect(statusOf(await request(port, 'GET /'))).toBe(426);
    for (const line of ['GET /nope', 'POST /', 'OPTIONS /nope']) expect(statusOf(await request(port, line))).toBe(404);
  });

  it('never send a CORS header', async () => {
    const { port } = await serve({ wsAuth: 'none', allowOrigin: ['http://localhost:3000'] });
    for (const line of ['GET /healthz', 'OPTIONS /', 'GET /'])
      for (const origin of ['http://localhost:3000', 'null'])
        expect(await request(port, line, ['Host: localhost', `Origin: ${origin}`])).not.toMatch(/access-control/i);
  });

  it('take upgrade headers of 16 KiB and no more', async () => {
    const { port } = await serve();
    expect(statusOf(await upgrade(port, ['Host: localhost', `X-Pad: ${'x'.repeat(15_000)}`]))).toBe(101);
    expect(statusOf(await upgrade(port, ['Host: localhost', `Authorization: Bearer ${'x'.repeat(1_000_000)}`]))).toBe(
      431,
    );
  });
});

describe('Host and Origin', () => {
  it.each([
    ['plain', ['Host: 127.0.0.1'], 101],
    ['localhost with a dot', ['Host: localhost.:1'], 101],
    ['IPv6', ['Host: [::1]:4500'], 101],
    ['a foreign Host', ['Host: evil.example:4500'], 403],
    ['a prefix', ['Host: 127.evil.example'], 403],
    ['no Host', [], 403],
    ['two Hosts', ['Host: localhost', 'Host: localhost'], 403],
    ['a foreign Origin', ['Host: localhost', 'Origin: https://evil.example'], 403],
    ['a sandboxed page', ['Host: localhost', 'Origin: null'], 403],
    ['another local page', ['Host: localhost', 'Origin: http://localhost:3000'], 403],
    ['an allowed page', ['Host: localhost', 'Origin: https://app.example'], 101],
  ])('%s', async (_label, headers, status) => {
    const { port } = await serve({ wsAuth: 'none', allowOrigin: ['https://app.example'] });
    expect(statusOf(await upgrade(port, headers))).toBe(status);
  });

  it('come before authentication, and a right token does not help', async () => {
    const { port } = await serve({ wsAuth: 'capability-token', wsTokenFile: await secretFile('right') });
    const right = 'Authorization: Bearer right';
    expect(statusOf(await upgrade(port, ['Host: localhost', right]))).toBe(101);
    expect(statusOf(await upgrade(port, ['Host: evil.example', right]))).toBe(403);
    expect(statusOf(await upgrade(port, ['Host: localhost', 'Origin: null', right]))).toBe(403);
    expect(statusOf(await upgrade(port, ['Host: localhost', 'Origin: null']))).toBe(403);
  });
});

async function secretFile(text: string): Promise<string> {
  const file = join(await temporary(), 'secret');
  await writeFile(file, text, { mode: 0o600 });
  return file;
}

describe('authentication', () => {
  it('refuses with 401, says what to send, and never reads a token from the URL', async () => {
    const file = await secretFile('right');
    const { port } = await serve({ wsAuth: 'capability-token', wsTokenFile: file });
    const missing = await upgrade(port, ['Host: localhost'], '/?token=right');
    expect(statusOf(missing)).toBe(401);
    expect(missing).toContain('WWW-Authenticate: Bearer');
    expect(missing).toContain('missing websocket bearer token');
    expect(missing).toContain(file);
    const twice = ['Host: localhost', 'Authorization: Bearer right', 'Authorization: Bearer right'];
    expect(await upgrade(port, twice)).toContain('invalid authorization header');
    expect(await upgrade(port, ['Host: localhost', 'Authorization: Bearer wrong'])).toContain(
      'invalid websocket bearer token',
    );
  });

  it('takes a browser token as sub-protocol and answers heddle.v1 only', async () => {
    const { port, next } = await serve({ wsAuth: 'capability-token', wsTokenFile: await secretFile('right') });
    const offer = `bearer.${Buffer.from('right').toString('base64url')}`;
    const { ws } = await dial(port, { protocols: [offer, 'heddle.v1'] });
    expect(ws.protocol).toBe('heddle.v1');
    expect((await next()).principal).toMatchObject({ subject: 'capability-token', isLocal: true });
  });

  it('closes with 1008 when the token and its skew are over', async () => {
    const secret = '0123456789abcdef0123456789abcdef';
    const { clock, port, next } = await serve({
      wsAuth: 'signed-bearer-token',
      wsSharedSecretFile: await secretFile(secret),
    });
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const body = `${part({ alg: 'HS256' })}.${part({ exp: clock.now() / 1000 + 60, sub: 'ann' })}`;
    const token = `${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`;
    const { ws, closed } = await dial(port, { token });
    const { connection, principal } = await next();
    expect(principal.subject).toBe('ann');
    for (const step of [9_000, 30_000, 30_000, 20_999]) {
      clock.advance(step);
      ws.send('"hello"');
      expect(await firstFrame(connection)).toBe('"hello"');
    }
    clock.advance(1);
    expect(await closed).toEqual({ code: 1008, text: 'token expired' });
    expect((await connection.closed).kind).toBe('expired');
  });
});

describe('frames', () => {
  it('ignores binary messages and joins fragments', async () => {
    const { port, next } = await serve();
    const { ws } = await dial(port);
    const { connection } = await next();
    ws.send(Buffer.from('"binary"'), { binary: true });
    ws.send('"te', { fin: false });
    ws.send('xt"', { fin: true });
    expect(await firstFrame(connection)).toBe('"text"');
  });

  it.each([
    ['one frame', 1],
    ['1,000 fragments', 1000],
  ])('above the outer limit in %s close that connection only (BC-02d)', async (_label, fragments) => {
    const { port, next } = await serve();
    const other = await dial(port);
    const { connection: otherConnection } = await next();
    const { ws, closed } = await dial(port);
    const { connection } = await next();
    connection.limitFrames(FRAME_LIMIT);
    const size = Math.ceil((FRAME_LIMIT + 1) / fragments);
    const piece = 'x'.repeat(size);
    for (let sent = 1; sent <= fragments; sent += 1) ws.send(piece, { fin: sent === fragments }, () => {});
    expect((await closed).code).toBe(1009);
    expect((await connection.closed).kind).toBe('tooLarge');
    other.ws.send('"fine"');
    expect(await firstFrame(otherConnection)).toBe('"fine"');
  });

  it('that are cut off by the end of the wire are an error, after those that were whole', async () => {
    const { port, next } = await serve();
    const { ws } = await dial(port);
    const { connection } = await next();
    ws.send('"whole"', () => ws.terminate());
    expect((await connection.closed).kind).toBe('broken');
    const frames = connection.frames[Symbol.asyncIterator]();
    expect((await frames.next()).value).toBe('"whole"');
    await expect(frames.next()).rejects.toMatchObject({ kind: 'unavailable' });
    expect((await frames.next()).done).toBe(true);
    await connection.close();
  });

  it('that are not UTF-8 end the connection as the protocol demands', async () => {
    const { port, next } = await serve();
    const { ws, closed } = await dial(port);
    const { connection } = await next();
    ws.send(Buffer.from([0x22, 0xff, 0x22]), { binary: false });
    expect((await closed).code).toBe(1007);
    expect((await connection.closed).kind).toBe('protocol');
  });
});

describe('deadlines', () => {
  it('drop who stays silent before the first frame, and serve an honest client meanwhile (BC-35c)', async () => {
    const { clock, port, next } = await serve();
    const silent = Array.from({ length: 100 }, () => raw(port, ''));
    const slow = Array.from({ length: 100 }, () => raw(port, 'GET / HT'));
    const upgraded = await Promise.all(Array.from({ length: 50 }, () => dial(port)));
    const connections = await Promise.all(upgraded.map(() => next()));
    const honest = await dial(port);
    const { connection } = await next();
    honest.ws.send('"hello"');
    expect(await firstFrame(connection)).toBe('"hello"');
    clock.advance(10_000);
    expect(await Promise.all([...silent, ...slow].map(({ answer }) => answer))).toEqual(Array(200).fill(''));
    for (const { closed } of upgraded) expect((await closed).code).toBe(1008);
    for (const each of connections) expect((await each.connection.closed).kind).toBe('silent');
    expect(honest.ws.readyState).toBe(WebSocket.OPEN);
  });

  it('count from connecting, not from the upgrade', async () => {
    const { clock, port, next } = await serve();
    const { socket, answer } = raw(port, 'GET / HTTP/1.1\r\n');
    await new Promise((resolve) => socket.once('connect', resolve));
    // The server has surely seen this one when it has answered a later one.
    expect(statusOf(await request(port, 'GET /healthz'))).toBe(200);
    clock.advance(6_000);
    socket.write([...UPGRADE, 'Host: localhost', '', ''].join('\r\n'));
    const { connection } = await next();
    clock.advance(4_000);
    expect(await firstFrame(connection)).toBeUndefined();
    // It does not answer the close either.
    clock.advance(2_000);
    expect((await connection.closed).kind).toBe('silent');
    await answer;
  });

  it('ping a quiet client, keep one that answers and drop one that does not', async () => {
    const { clock, port, next } = await serve();
    const answering = await dial(port);
    const { connection: kept } = await next();
    const deaf = await dial(port, { autoPong: false });
    const { connection: dropped } = await next();
    for (const { ws } of [answering, deaf]) ws.send('"hello"');
    expect(await firstFrame(kept)).toBe('"hello"');
    expect(await firstFrame(dropped)).toBe('"hello"');
    for (let round = 0; round < 2; round += 1) {
      const pings = [answering, deaf].map(({ ws }) => new Promise((resolve) => ws.once('ping', resolve)));
      clock.advance(20_000);
      await Promise.all(pings);
      // A message from the answering one comes after its pong.
      answering.ws.send('"still here"');
      expect(await firstFrame(kept)).toBe('"still here"');
    }
    clock.advance(10_000);
    expect((await deaf.closed).code).toBe(1008);
    expect((await dropped.closed).kind).toBe('silent');
    expect(answering.ws.readyState).toBe(WebSocket.OPEN);
  });
});

describe('the listener', () => {
  it('says where the token is, and leaves accepted connections alone when it closes', async () => {
    const { listener, port, next } = await serve({});
    expect(listener.tokenFile).toMatch(/ws-token$/);
    expect(listener.address).toBe(`ws://127.0.0.1:${port}`);
    const plain = await serve();
    const { ws } = await dial(plain.port);
    const { connection } = await plain.next();
    const waiting = raw(plain.port, '');
    await new Promise((resolve) => waiting.socket.once('connect', resolve));
    await plain.listener.close();
    await plain.listener.close();
    expect(await waiting.answer).toBe('');
    ws.send('"still"');
    expect(await firstFrame(connection)).toBe('"still"');
    await expect(dial(plain.port)).rejects.toThrow('ECONNREFUSED');
    expect(next).toBeTypeOf('function');
  });

  it('refuses a port that is taken and says what to do', async () => {
    const { port } = await serve();
    const guard = await webSocketGuard('127.0.0.1', { wsAuth: 'none' }, { dataDirectory: '/nonexistent' });
    await expect(listenOnWebSocket({ host: '127.0.0.1', port, guard })(() => {})).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('choose another port'),
    });
  });
});
