// What a command may write to the proxy to get further than it may.

import { once } from 'node:events';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Lookup, openProxy } from '../../../src/sandbox/proxy.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A server on loopback that keeps all it is sent, and a proxy. */
async function started(lookup: Lookup, isLimited = false) {
  const sockets: Socket[] = [];
  const far = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => far.listen(0, '127.0.0.1', resolve));
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'heddle-test-')));
  const path = join(folder, 'p');
  const proxy = await openProxy(
    path,
    { allow: ['there.test'], deny: [], isLimited, allowsLocal: true },
    () => {},
    lookup,
  );
  ends.push(
    () => rm(folder, { recursive: true }),
    async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => far.close(resolve));
    },
    () => proxy.close(),
  );
  return { far, path, port: (far.address() as AddressInfo).port };
}

const here: Lookup = async () => ['127.0.0.1'];

/** What the far side is sent for these bytes until it has heard `end`. */
async function passedOn(far: Awaited<ReturnType<typeof started>>['far'], path: string, bytes: string, end: string) {
  const near = connect(path);
  near.on('error', () => {});
  near.write(bytes);
  const [socket] = (await once(far, 'connection')) as [Socket];
  let text = '';
  for await (const piece of socket) {
    text += String(piece);
    if (text.includes(end)) break;
  }
  near.destroy();
  return text;
}

const INNER = 'POST /inner HTTP/1.1\r\nhost: other.test\r\n\r\n';

test.each([
  ['chunks', `transfer-encoding: chunked\r\n\r\n${INNER.length.toString(16)}\r\n${INNER}\r\n0\r\n\r\n`],
  ['a length', `content-length: ${INNER.length}\r\n\r\n${INNER}`],
  [
    'a length that is named as of no concern',
    `connection: content-length\r\ncontent-length: ${INNER.length}\r\n\r\n${INNER}`,
  ],
])('a body with %s stays a body', async (_, rest) => {
  const { far, path, port } = await started(here, true);
  const text = await passedOn(
    far,
    path,
    `GET http://there.test:${port}/ HTTP/1.1\r\nhost: there.test\r\n${rest}`,
    INNER,
  );
  expect(text).toMatch(/\r\n(?:transfer-encoding: chunked|content-length: \d+)\r\n/i);
});

test.each([['CONNECT there.test:PORT'], ['GET http://there.test:PORT/']])(
  'who has gone while a name was looked up leaves no connection behind: %s',
  async (line) => {
    let found: ((addresses: readonly string[]) => void) | undefined;
    const asked = deferred();
    const { far, path, port } = await started(() => {
      asked.resolve();
      return new Promise((resolve) => {
        found = resolve;
      });
    });
    const near = connect(path);
    near.write(`${line.replace('PORT', String(port))} HTTP/1.1\r\nhost: there.test\r\n\r\n`);
    await asked.promise;
    near.destroy();
    await once(near, 'close');
    // It has heard of that when it answers somebody who came later.
    const later = connect(path);
    later.write('GET http://other.test/ HTTP/1.1\r\nhost: other.test\r\nconnection: close\r\n\r\n');
    await once(later.resume(), 'close');
    found?.(['127.0.0.1']);
    const [socket] = (await once(far, 'connection')) as [Socket];
    socket.resume();
    await once(socket, 'close');
  },
);

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
