// Frames above the limit: refused by name where the stream can go on, else the connection is closed; others are untouched.

import { afterEach, describe, expect, test } from 'vitest';
import { FRAME_LIMIT, FRAME_LIMIT_BEFORE_INITIALIZE } from '../../src/transports/connection.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';

afterEach(cleanUp);

const LINES = ['stdio', 'unix-lines'] as const;
const WEB_SOCKETS = ['unix', 'websocket'] as const;

/** A request of exactly so many bytes. */
function requestOf(bytes: number): string {
  const [start, end] = ['{"id":"big","method":"model/list","params":{"filler":"', '"}}'];
  return `${start}${'a'.repeat(bytes - start.length - end.length)}${end}`;
}

describe.each([...LINES, 'memory'] as const)('over %s', (transport) => {
  test('a frame one byte too large is refused with the limit, and the next request is answered', async () => {
    const server = await startApp({ transport });
    const client = await server.connect();
    client.wire.send(requestOf(FRAME_LIMIT + 1));
    const { error } = await client.message((each) => each.id === 'big');
    expect(error).toMatchObject({ code: -32600, data: { kind: 'too_large', limit: FRAME_LIMIT } });
    expect(error.message).toContain(String(FRAME_LIMIT));
    await client.settled();
  });

  test('a frame of just the limit is taken', async () => {
    const server = await startApp({ transport });
    const client = await server.connect();
    client.wire.send(requestOf(FRAME_LIMIT));
    expect((await client.message((each) => each.id === 'big')).result.data).toHaveLength(1);
  });

  test('before the handshake the limit is smaller', async () => {
    const server = await startApp({ transport });
    const client = await server.dial();
    client.wire.send(requestOf(FRAME_LIMIT_BEFORE_INITIALIZE + 1));
    const { error } = await client.message((each) => each.id === 'big');
    expect(error.data.limit).toBe(FRAME_LIMIT_BEFORE_INITIALIZE);
    const { server: facts } = await client.initialize();
    expect(facts.limits).toMatchObject({
      frameBytes: FRAME_LIMIT,
      frameBytesBeforeInitialize: FRAME_LIMIT_BEFORE_INITIALIZE,
    });
  });
});

test.each(LINES)('a line over %s that does not end is dropped up to its end', async (transport) => {
  const server = await startApp({ transport });
  const client = await server.connect();
  const piece = Buffer.alloc(1024 * 1024, 'a');
  for (let mebibytes = 0; mebibytes < 48; mebibytes += 1) await client.wire.sendPieces([piece]);
  await client.wire.sendPieces([Buffer.from('\n')]);
  await client.settled();
  expect(client.transcript.filter((each) => each.error)).toHaveLength(1);
});

describe.each(WEB_SOCKETS)('over %s', (transport) => {
  test('a message above the limit closes the connection with 1009, and no other', async () => {
    const server = await startApp({ transport });
    const [rude, other] = [await server.connect(), await server.connect()];
    rude.wire.send(requestOf(FRAME_LIMIT + 1));
    expect(await rude.wire.closed).toBe(1009);
    await other.settled();
  });

  test('so does one that comes in a thousand fragments', async () => {
    const server = await startApp({ transport });
    const [rude, other] = [await server.connect(), await server.connect()];
    const size = Math.ceil((FRAME_LIMIT + 1) / 1000);
    void rude.wire.sendPieces(Array.from({ length: 1000 }, () => Buffer.alloc(size, 'a')));
    expect(await rude.wire.closed).toBe(1009);
    await other.settled();
  });
});
