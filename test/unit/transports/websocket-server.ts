// A WebSocket listener to test, and the clients that shake hands with it: raw ones and well-behaved ones.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { type AuthFlags, webSocketGuard } from '../../../src/auth/policy.ts';
import type { Principal } from '../../../src/auth/principal.ts';
import { deferred } from '../../../src/base/signals.ts';
import type { Connection } from '../../../src/transports/connection.ts';
import { listenOnWebSocket } from '../../../src/transports/websocket.ts';
import { ManualClock } from './manual-clock.ts';

const cleanups: (() => Promise<unknown> | unknown)[] = [];
/** Ends what the test has opened; call it after each test. */
export async function cleanUp(): Promise<void> {
  await Promise.all(cleanups.splice(0).map((clean) => clean()));
}

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

interface Accepted {
  readonly connection: Connection;
  readonly principal: Principal;
}

export async function serve(flags: AuthFlags = { wsAuth: 'none' }, host = '127.0.0.1') {
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
export function raw(port: number, text: string): { readonly socket: Socket; readonly answer: Promise<string> } {
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

export const statusOf = (answer: string): number => Number(answer.split(' ', 2)[1]);

export const request = async (port: number, line: string, headers: readonly string[] = ['Host: localhost']) =>
  raw(port, [`${line} HTTP/1.1`, ...headers, '', ''].join('\r\n')).answer;

export const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
];

/** Status of an upgrade with these headers; 101 as soon as it is granted. */
export async function upgrade(port: number, headers: readonly string[], path = '/'): Promise<string> {
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

export async function dial(
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

export async function firstFrame(connection: Connection): Promise<unknown> {
  return (await connection.frames[Symbol.asyncIterator]().next()).value;
}

export async function secretFile(text: string): Promise<string> {
  const file = join(await temporary(), 'secret');
  await writeFile(file, text, { mode: 0o600 });
  return file;
}
