// The platform's WebSocket as a connection: what is offered, what is refused, and how it ends.

import { expect, test } from 'vitest';
import { dialWebSocket, type Socket, type SocketClass } from '../../../src/client/web-socket.ts';

type Listener = (event: never) => void;

class FakeSocket implements Socket {
  static readonly all: FakeSocket[] = [];
  readonly url: string;
  readonly protocols: readonly string[];
  readonly sent: string[] = [];
  bufferedAmount = 0;
  readonly #listeners = new Map<string, Listener[]>();

  constructor(url: string, protocols: string[]) {
    this.url = url;
    this.protocols = protocols;
    FakeSocket.all.push(this);
  }

  send(text: string): void {
    this.sent.push(text);
  }

  close(code?: number): void {
    this.emit('close', { code, reason: '' });
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }

  emit(type: string, event: object = {}): void {
    for (const listener of this.#listeners.get(type) ?? []) listener(event as never);
  }
}

const socketClass: SocketClass = FakeSocket;
const hooks = { stderr: () => {} };

async function open(token?: string) {
  const dialling = dialWebSocket({ url: 'ws://127.0.0.1:1', socketClass, ...(token ? { token } : {}) })(hooks);
  const socket = FakeSocket.all.at(-1)!;
  socket.emit('open');
  return { socket, connection: (await dialling).connection };
}

test('the token is a sub-protocol, and none is offered without one', async () => {
  expect((await open('geheim~ü')).socket.protocols).toEqual(['heddle.v1', 'bearer.Z2VoZWltfsO8']);
  expect((await open()).socket.protocols).toEqual([]);
});

test.each([
  ['http://127.0.0.1:1', undefined],
  ['nothing', undefined],
  ['ws://example.org', 't'],
  ['ws://127.0.0.1.example.org', 't'],
])('%s with the token %s is refused before anything is sent', (url, token) => {
  const before = FakeSocket.all.length;
  expect(() => dialWebSocket({ url, socketClass, ...(token ? { token } : {}) })).toThrow(/expected|plain text/);
  expect(FakeSocket.all).toHaveLength(before);
});

test('a socket that never opens is no connection', async () => {
  const dialling = dialWebSocket({ url: 'wss://example.org', token: 't', socketClass })(hooks);
  FakeSocket.all.at(-1)!.emit('close', { code: 1006, reason: '' });
  await expect(dialling).rejects.toMatchObject({ kind: 'unavailable' });
});

test('text is a frame, binary is nothing; the end has its reason', async () => {
  const { socket, connection } = await open();
  connection.send(['one', Buffer.from('two')]);
  expect(socket.sent).toEqual(['one', 'two']);
  socket.emit('message', { data: 'a' });
  socket.emit('message', { data: new Uint8Array(1) });
  socket.emit('message', { data: 'b' });
  socket.emit('close', { code: 1009, reason: 'too large' });
  const frames: unknown[] = [];
  for await (const frame of connection.frames) frames.push(frame);
  expect(frames).toEqual(['a', 'b']);
  expect(await connection.closed).toEqual({ kind: 'broken', text: 'too large' });
  connection.send(['late']);
  expect(socket.sent).toEqual(['one', 'two']);
});

test('closing says goodbye and settles when the other side has', async () => {
  const { socket, connection } = await open();
  socket.bufferedAmount = 10;
  const drained = connection.drained(0);
  socket.bufferedAmount = 0;
  await drained;
  await connection.close({ kind: 'ended', text: 'done' });
  await connection.close();
  expect(await connection.closed).toEqual({ kind: 'ended', text: 'done' });
});
