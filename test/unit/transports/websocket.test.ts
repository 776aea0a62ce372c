// The WebSocket listener from outside: frames, limits, pings and deadlines.

import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { webSocketGuard } from '../../../src/auth/policy.ts';
import { FRAME_LIMIT } from '../../../src/transports/connection.ts';
import { listenOnWebSocket } from '../../../src/transports/websocket.ts';
import { cleanUp, dial, firstFrame, raw, request, serve, statusOf, UPGRADE } from './websocket-server.ts';

afterEach(cleanUp);

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
