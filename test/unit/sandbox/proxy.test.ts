// The proxy of commands that reach single hosts: it looks up names itself, and goes exactly where it has looked.

import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { NetworkRules } from '../../../src/model/policy.ts';
import { openProxy } from '../../../src/sandbox/proxy.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A web server on loopback, and a proxy to which names lead where the test says. */
async function started(rules: Partial<NetworkRules>, names: Record<string, string[]> = {}) {
  const seen: IncomingMessage[] = [];
  const web: Server = createServer((asked, answer) => {
    seen.push(asked);
    answer
      .writeHead(200, { 'x-own': 'kept', connection: 'x-hop', 'x-hop': 'gone' })
      .end(`${asked.method} ${asked.url}`);
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'heddle-test-')));
  const path = join(folder, 'p');
  const refused: string[] = [];
  const looked: string[] = [];
  const whole = { allow: [], deny: [], isLimited: false, allowsLocal: false, ...rules };
  const proxy = await openProxy(
    path,
    whole,
    (host, why) => refused.push(`${host}: ${why}`),
    async (host) => {
      looked.push(host);
      return names[host] ?? Promise.reject(new Error('ENOTFOUND'));
    },
  );
  ends.push(
    () => rm(folder, { recursive: true }),
    () => new Promise((resolve) => web.close(resolve)),
    () => proxy.close(),
  );
  const port = (web.address() as AddressInfo).port;
  const ask = (address: string, options: { method?: string; headers?: Record<string, string> } = {}) =>
    new Promise<{ status: number; text: string; headers: IncomingMessage['headers'] }>((resolve, reject) => {
      const asked = request({ socketPath: path, path: address, ...options }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (piece) => {
          text += piece;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text, headers: answer.headers }));
      });
      asked.on('error', reject).end();
    });
  const raw = (bytes: string) =>
    new Promise<string>((resolve) => {
      const socket = connect(path);
      let text = '';
      socket.on('data', (data) => {
        text += data.toString('latin1');
        if (text.includes('200 Connection'))
          socket.write('GET /inside HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
      });
      socket.on('error', () => {}); // what came before counts
      socket.on('close', () => resolve(text));
      socket.write(bytes);
    });
  return { ask, raw, port, seen, refused, looked };
}

const LOCAL = { allow: ['there.test'], allowsLocal: true };
const THERE = { 'there.test': ['127.0.0.1'] };

test('a request goes to the host that was looked at, whatever is written beside it', async () => {
  const { ask, port, seen } = await started(LOCAL, THERE);
  const headers = {
    host: 'other.test',
    'proxy-authorization': 'secret',
    connection: 'x-mine',
    'x-mine': 'gone',
    'x-kept': '1',
  };
  const { status, text, headers: answered } = await ask(`http://there.test:${port}/a?b=c`, { headers });
  expect([status, text, answered['x-own'], answered['x-hop']]).toEqual([200, 'GET /a?b=c', 'kept', undefined]);
  expect(seen[0]?.headers).toMatchObject({ host: `there.test:${port}`, 'x-kept': '1' });
  expect(seen[0]?.headers).not.toHaveProperty('x-mine');
  expect(seen[0]?.headers).not.toHaveProperty('proxy-authorization');
});

test('a tunnel leads to a host that is listed, and to no other', async () => {
  const { raw, port, refused } = await started(LOCAL, THERE);
  expect(await raw(`CONNECT there.test:${port} HTTP/1.1\r\n\r\n`)).toContain('GET /inside');
  expect(await raw(`CONNECT other.test:${port} HTTP/1.1\r\n\r\n`)).toMatch(
    /^HTTP\/1.1 403 [\s\S]*does not list this host/,
  );
  expect(refused).toEqual(['other.test: the permission profile does not list this host']);
  for (const target of ['there.test', 'there.test:0', 'there.test:99999', '/'])
    expect(await raw(`CONNECT ${target} HTTP/1.1\r\n\r\n`)).toMatch(/^HTTP\/1.1 40[03] /);
});

test('a name that leads here is refused, also when it leads elsewhere as well', async () => {
  const { ask, port, seen } = await started(
    { allow: ['*'] },
    { 'here.test': ['127.0.0.1'], 'both.test': ['93.184.216.34', '127.0.0.1'], '127.0.0.1': ['127.0.0.1'] },
  );
  for (const host of ['here.test', 'both.test', '127.0.0.1'])
    expect(await ask(`http://${host}:${port}/`)).toMatchObject({
      status: 403,
      text: expect.stringContaining('private'),
    });
  expect(await ask(`http://nowhere.test:${port}/`)).toMatchObject({ status: 502 });
  expect(seen).toEqual([]);
});

test('names that are not listed are not even looked up', async () => {
  const { ask, looked } = await started(LOCAL, THERE);
  await ask('http://secret-in-a-name.evil.test/');
  expect(looked).toEqual([]);
});

test('where commands only read, nothing else passes, and no tunnel', async () => {
  const { ask, raw, port } = await started({ ...LOCAL, isLimited: true }, THERE);
  expect(await ask(`http://there.test:${port}/`)).toMatchObject({ status: 200 });
  expect(await ask(`http://there.test:${port}/`, { method: 'POST' })).toMatchObject({ status: 403 });
  expect(await raw(`CONNECT there.test:${port} HTTP/1.1\r\n\r\n`)).toMatch(/^HTTP\/1.1 403 /);
});

test('what is no request to a proxy is refused', async () => {
  const { ask, raw } = await started(LOCAL, THERE);
  for (const path of ['/', 'https://there.test/', 'ftp://there.test/'])
    expect(await ask(path)).toMatchObject({ status: 400 });
  expect(await raw('\u0016\u0003\u0001 nonsense\r\n\r\n')).not.toContain('200');
});
