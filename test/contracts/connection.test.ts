// What every Connection promises, proved over each transport.

import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { unixGuard, webSocketGuard } from '../../src/auth/policy.ts';
import { deferred } from '../../src/base/signals.ts';
import type { BadFrame, CloseReason, Connection, Listen } from '../../src/transports/connection.ts';
import { memoryPair } from '../../src/transports/memory.ts';
import { stdioConnection } from '../../src/transports/stdio.ts';
import { lineConnection } from '../../src/transports/streams.ts';
import { listenOnUnix } from '../../src/transports/unix.ts';
import { listenOnWebSocket } from '../../src/transports/websocket.ts';
import type { WireConnection } from '../../src/transports/wire-connection.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';
import { type Client, connectionClient, webSocketClient } from './connection-clients.ts';

interface Link {
  readonly connection: Connection;
  readonly client: Client;
}

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function accepted(listen: Listen, dial: (address: string) => Promise<Client>): Promise<Link> {
  const arrived = deferred<Connection>();
  const listener = await listen((connection) => arrived.resolve(connection));
  cleanups.push(() => listener.close());
  const client = await dial(listener.address);
  cleanups.push(() => client.destroy());
  const connection = await arrived.promise;
  cleanups.push(() => connection.close());
  return { connection, client };
}

async function socketPath(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 's.sock');
}

const transports: Readonly<Record<string, (clock: ManualClock) => Promise<Link>>> = {
  async memory(clock) {
    const [connection, other] = memoryPair({ clock });
    cleanups.push(() => Promise.all([connection.close(), other.close()]));
    return { connection, client: connectionClient(other) };
  },
  async 'stdio streams'(clock) {
    const [toServer, toClient] = [new PassThrough(), new PassThrough()];
    const connection = stdioConnection({ streams: { readable: toServer, writable: toClient }, clock });
    const client = lineConnection('child', { readable: toClient, writable: toServer }, { frameLimit: 2 ** 26 });
    cleanups.push(() => Promise.all([connection.close(), client.close()]));
    return { connection, client: connectionClient(client) };
  },
  async 'unix plain lines'(clock) {
    const path = await socketPath();
    return accepted(listenOnUnix({ path, guard: unixGuard(), clock }), async () => {
      const socket = connect(path);
      const client = connectionClient(
        lineConnection('unix', { readable: socket, writable: socket }, { frameLimit: 2 ** 26 }),
      );
      // The first byte tells the listener what is spoken; a blank line is no frame.
      client.send('');
      return client;
    });
  },
  async 'unix websocket'(clock) {
    const path = await socketPath();
    return accepted(listenOnUnix({ path, guard: unixGuard(), clock }), async () => {
      const client = webSocketClient(`ws+unix://${path}:/`);
      await client.opened;
      return client;
    });
  },
  async websocket(clock) {
    const guard = await webSocketGuard('127.0.0.1', { wsAuth: 'none' }, { dataDirectory: '/nonexistent' });
    return accepted(listenOnWebSocket({ host: '127.0.0.1', port: 0, guard, clock }), async (address) => {
      const client = webSocketClient(address);
      await client.opened;
      return client;
    });
  },
};

async function take(connection: Connection, count: number): Promise<readonly (string | BadFrame)[]> {
  const frames: (string | BadFrame)[] = [];
  const iterator = connection.frames[Symbol.asyncIterator]();
  while (frames.length < count) {
    const next = await iterator.next();
    if (next.done) break;
    frames.push(next.value);
  }
  return frames;
}

const numbered = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `{"n":${n},"t":"猫"}`);
const stop: CloseReason = { kind: 'shutdown', text: 'the server stops' };

describe.each(Object.entries(transports))('a connection over %s', (name, open) => {
  const isWebSocket = name.includes('websocket');

  it('moves frames in order, both ways, as strings and as encoded bytes', async () => {
    const { connection, client } = await open(new ManualClock());
    const texts = numbered(1000);
    for (const text of texts) client.send(text);
    expect(await take(connection, texts.length)).toEqual(texts);
    for (const text of texts) connection.send([text, Buffer.from(text)]);
    expect(await client.received(2000)).toEqual(texts.flatMap((text) => [text, text]));
  });

  it('knows what is pending and tells when it has drained', async () => {
    const { connection, client } = await open(new ManualClock());
    const frame = `"${'x'.repeat(100_000)}"`;
    connection.send([frame, frame]);
    expect(connection.pending).toBe(2 * frame.length);
    await connection.drained(0);
    expect(connection.pending).toBe(0);
    expect(await client.received(2)).toEqual([frame, frame]);
  });

  it('moves one large frame each way', async () => {
    const { connection, client } = await open(new ManualClock());
    connection.limitFrames(16 * 1024 * 1024);
    const frame = `"${'é'.repeat(2_500_000)}"`;
    client.send(frame);
    expect(await take(connection, 1)).toEqual([frame]);
    connection.send([frame]);
    expect(await client.received(1)).toEqual([frame]);
  });

  it('flushes before it closes, drops what is sent afterwards and tells the reason', async () => {
    const { connection, client } = await open(new ManualClock());
    const texts = numbered(200);
    connection.send(texts);
    const closing = connection.close(stop);
    connection.send(['"late"']);
    await closing;
    expect(await client.received(200)).toEqual(texts);
    expect(await client.ended).toBe(isWebSocket ? 1001 : undefined);
    expect(await connection.closed).toEqual(stop);
    await connection.close({ kind: 'expired', text: 'again' });
    expect(await connection.closed).toEqual(stop);
    expect(await client.received(200)).toHaveLength(200);
  });

  it('ends its frames when the other side is done, and then its life', async () => {
    const { connection, client } = await open(new ManualClock());
    client.send('"last"');
    client.end();
    expect(await take(connection, 2)).toEqual(['"last"']);
    await connection.close();
    expect(['ended', 'shutdown']).toContain((await connection.closed).kind);
  });

  it('ends the reader when this side closes', async () => {
    const { connection } = await open(new ManualClock());
    const reading = take(connection, 1);
    await connection.close(stop);
    expect(await reading).toEqual([]);
  });

  it('closes a consumer that takes nothing for a minute', async () => {
    const clock = new ManualClock();
    const { connection, client } = await open(clock);
    client.send('"hello"');
    expect(await take(connection, 1)).toEqual(['"hello"']);
    client.pause();
    connection.send(Array.from({ length: 100 }, () => `"${'x'.repeat(250_000)}"`));
    // What the kernel and the reader's own buffers take is taken; the rest stands still.
    await standsStill(connection);
    expect(connection.pending).toBeGreaterThan(1_000_000);
    clock.advance(59_000);
    expect(await settled(connection.closed)).toBe(false);
    clock.advance(1_000);
    client.resume();
    const closing = connection.closed;
    if (isWebSocket) expect(await client.ended).toBe(1013);
    else clock.advance(2_000);
    expect((await closing).kind).toBe('slowConsumer');
    expect(connection.pending).toBe(0);
  });

  it('stops reading the wire while its reader is behind', async () => {
    const { connection, client } = await open(new ManualClock());
    const frame = `"${'x'.repeat(10_000)}"`;
    for (let sent = 0; sent < 2_000; sent += 1) client.send(frame);
    while (!(connection as WireConnection).isPaused) await turn();
    const frames = await take(connection, 2_000);
    expect(frames).toHaveLength(2_000);
  });

  it('treats a frame above the limit as the wire allows', async () => {
    const { connection, client } = await open(new ManualClock());
    connection.limitFrames(1000);
    client.send(`{"id":5,"pad":"${'x'.repeat(1000)}"}`);
    client.send('"next"');
    if (isWebSocket) {
      expect(await client.ended).toBe(1009);
      expect((await connection.closed).kind).toBe('tooLarge');
    } else {
      const [bad, next] = await take(connection, 2);
      expect(bad).toMatchObject({ bad: 'tooLarge', limit: 1000, start: expect.stringMatching(/^\{"id":5,/) });
      expect(next).toBe('"next"');
    }
  });
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Settles when `pending` has not changed over many turns of the event loop. */
async function standsStill(connection: Connection): Promise<void> {
  let last = -1;
  for (let same = 0; same < 200; same += 1) {
    await turn();
    if (connection.pending !== last) same = 0;
    last = connection.pending;
  }
}

async function settled(promise: Promise<unknown>): Promise<boolean> {
  const not = Symbol('not yet');
  await turn();
  return (await Promise.race([promise, Promise.resolve(not)])) !== not;
}
