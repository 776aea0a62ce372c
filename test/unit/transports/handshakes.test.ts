// The HTTP side of a listener from outside: probes, Host, Origin and tokens.

import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { cleanUp, dial, firstFrame, request, secretFile, serve, statusOf, upgrade } from './websocket-server.ts';

afterEach(cleanUp);

describe('health probes and plain HTTP', () => {
  it('answer who is alive and nothing else', async () => {
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
    for (const line of ['GET /nope', 'POST /', 'OPTIONS /nope']) expect(statusOf(await request(port, line))).toBe(400);
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
