// Which flags make which guard: safe by default, and every refusal says what to do instead (BC-35a,b).

import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Handshake } from '../../../src/auth/guard.ts';
import { type AuthFlags, unixGuard, webSocketGuard } from '../../../src/auth/policy.ts';
import { localPrincipal } from '../../../src/auth/principal.ts';
import { capabilityDigest } from '../../../src/auth/tokens.ts';
import { AppError } from '../../../src/base/errors.ts';
import { ManualClock } from '../transports/manual-clock.ts';

const LOOPBACK = '127.0.0.1';
const ANY = '0.0.0.0';
let folder: string;
let token: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle-'));
  token = await file('token', 's3cret\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function file(name: string, content: string, mode = 0o600): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  await chmod(path, mode);
  return path;
}

const guard = (ip: string, flags: AuthFlags, clock = new ManualClock()) =>
  webSocketGuard(ip, flags, { dataDirectory: join(folder, 'data'), clock });

async function refusal(ip: string, flags: AuthFlags): Promise<AppError> {
  const error = await guard(ip, flags).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AppError);
  return error as AppError;
}

const handshake = (bearer?: string, address = '127.0.0.1'): Handshake => ({
  hosts: ['localhost'],
  origins: [],
  authorization: bearer === undefined ? [] : [`Bearer ${bearer}`],
  protocols: [],
  address,
});

describe('webSocketGuard', () => {
  it('makes a token on loopback without flags, keeps it, and lets nobody in without it', async () => {
    const made = await guard(LOOPBACK, {});
    const path = join(folder, 'data', 'ws-token');
    expect(made.tokenFile).toBe(path);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const text = (await readFile(path, 'utf8')).trim();
    expect(Buffer.from(text, 'base64url')).toHaveLength(32);
    expect(await made.admit(handshake(text))).toEqual({
      principal: { ...localPrincipal, subject: 'capability-token' },
    });
    const { refusal: missing } = (await made.admit(handshake())) as { refusal: { status: number; text: string } };
    expect(missing.status).toBe(401);
    expect(missing.text).toMatch(/^missing websocket bearer token; .*Authorization: Bearer/);
    expect(missing.text).toContain(path);
    expect(missing.text).not.toContain(text);
    await Promise.all([guard(LOOPBACK, {}), guard('::1', {})]);
    expect((await readFile(path, 'utf8')).trim()).toBe(text);
  });

  it('asks nobody with --ws-auth none on loopback', async () => {
    const made = await guard(LOOPBACK, { wsAuth: 'none' });
    expect(await made.admit(handshake('whatever'))).toEqual({ principal: localPrincipal });
  });

  it.each<[string, string, () => AuthFlags, 'invalid' | 'unavailable', string]>([
    ['non-loopback without auth', ANY, () => ({}), 'unavailable', '--ws-auth capability-token'],
    ['non-loopback with none', ANY, () => ({ wsAuth: 'none' }), 'unavailable', '--ws-auth capability-token'],
    [
      'a proxy and none',
      LOOPBACK,
      () => ({ wsAuth: 'none', behindTlsProxy: ['a.example'] }),
      'unavailable',
      '--ws-auth signed-bearer-token',
    ],
    [
      'non-loopback without a proxy',
      ANY,
      () => ({ wsAuth: 'capability-token', wsTokenFile: token }),
      'unavailable',
      '--behind-tls-proxy HOST',
    ],
    ['an unknown mode', LOOPBACK, () => ({ wsAuth: 'bogus' }), 'invalid', 'signed-bearer-token'],
    ['no token', LOOPBACK, () => ({ wsAuth: 'capability-token' }), 'invalid', '--ws-token-file'],
    [
      'a missing file',
      LOOPBACK,
      () => ({ wsAuth: 'capability-token', wsTokenFile: '/no/such' }),
      'unavailable',
      'ENOENT',
    ],
    ['a folder', LOOPBACK, () => ({ wsAuth: 'capability-token', wsTokenFile: folder }), 'unavailable', 'regular file'],
    ['a bad hash', LOOPBACK, () => ({ wsAuth: 'capability-token', wsTokenSha256: 'zz' }), 'invalid', '64-character'],
    [
      'file and hash',
      LOOPBACK,
      () => ({ wsAuth: 'capability-token', wsTokenFile: token, wsTokenSha256: 'a'.repeat(64) }),
      'invalid',
      'mutually exclusive',
    ],
    ['a file without mode', LOOPBACK, () => ({ wsTokenFile: token }), 'invalid', '--ws-auth capability-token'],
    ['a secret with none', LOOPBACK, () => ({ wsAuth: 'none', wsSharedSecretFile: token }), 'invalid', '--ws-auth'],
    ['no secret', LOOPBACK, () => ({ wsAuth: 'signed-bearer-token' }), 'invalid', '--ws-shared-secret-file'],
    [
      'a token for signed',
      LOOPBACK,
      () => ({ wsAuth: 'signed-bearer-token', wsTokenFile: token }),
      'invalid',
      '--ws-auth capability-token',
    ],
    [
      'an issuer for a capability',
      LOOPBACK,
      () => ({ wsAuth: 'capability-token', wsTokenFile: token, wsIssuer: 'x' }),
      'invalid',
      '--ws-auth signed-bearer-token',
    ],
    [
      'a short secret',
      LOOPBACK,
      () => ({ wsAuth: 'signed-bearer-token', wsSharedSecretFile: token }),
      'unavailable',
      'at least 32 bytes',
    ],
    [
      'a broken skew',
      LOOPBACK,
      () => ({ wsAuth: 'signed-bearer-token', wsSharedSecretFile: token, wsMaxClockSkewSeconds: -1 }),
      'invalid',
      'seconds',
    ],
    ['an unknown scope', LOOPBACK, () => ({ wsScopes: ['root'] }), 'invalid', 'thread:read'],
    ['a wild origin', LOOPBACK, () => ({ allowOrigin: ['*'] }), 'invalid', '--allow-origin'],
  ])('refuses %s', async (_label, ip, flags, kind, text) => {
    const error = await refusal(ip, flags());
    expect(error.kind).toBe(kind);
    expect(error.message).toContain(text);
  });

  it('refuses an empty file and a file that others can read', async () => {
    const empty = await file('empty', '\n');
    expect((await refusal(LOOPBACK, { wsAuth: 'capability-token', wsTokenFile: empty })).message).toContain(
      'not be empty',
    );
    const open = await file('open', 's3cret', 0o644);
    const flags = { wsAuth: 'capability-token', wsTokenFile: open };
    // Below the private folder nobody else gets at it.
    await expect(guard(LOOPBACK, flags)).resolves.toBeDefined();
    await chmod(folder, 0o755);
    try {
      const error = await refusal(LOOPBACK, flags);
      expect(error.kind).toBe('unavailable');
      expect(error.message).toContain('chmod 600');
    } finally {
      await chmod(folder, 0o700);
    }
  });

  it('gives a remote capability token its default permissions and what the operator adds', async () => {
    const flags = {
      wsAuth: 'capability-token',
      wsTokenSha256: capabilityDigest('s3cret').toString('hex').toUpperCase(),
      behindTlsProxy: ['heddle.example'],
      wsScopes: ['fs'],
    };
    const made = await guard(ANY, flags);
    expect(await made.admit(handshake('s3cret'))).toEqual({
      principal: {
        tenant: 'local',
        subject: 'capability-token',
        isLocal: false,
        permissions: new Set(['thread:read', 'thread:write', 'approval:resolve', 'fs']),
      },
    });
    expect(made.screen({ hosts: ['heddle.example'], origins: [] })).toBeUndefined();
    expect(made.screen({ hosts: ['localhost'], origins: [] })?.status).toBe(403);
  });

  it('counts everyone behind a proxy as remote, on loopback too, and does not tell them where the token is', async () => {
    const made = await guard(LOOPBACK, { behindTlsProxy: ['heddle.example'] });
    const text = (await readFile(join(folder, 'data', 'ws-token'), 'utf8').catch(() => '')).trim();
    const admission = await made.admit(handshake(text));
    expect(admission).toMatchObject({ principal: { isLocal: false } });
    expect(JSON.stringify(await made.admit(handshake()))).not.toContain('ws-token');
    expect(made.screen({ hosts: ['localhost:1'], origins: [] })).toBeUndefined();
    expect(made.screen({ hosts: ['other.example'], origins: [] })?.status).toBe(403);
  });

  it('limits wrong tokens by address and still lets right ones in (BC-35d)', async () => {
    const clock = new ManualClock();
    const made = await guard(LOOPBACK, { wsAuth: 'capability-token', wsTokenFile: token }, clock);
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 1000; attempt += 1) {
      const admission = await made.admit(handshake(`wrong-${attempt}`));
      if ('refusal' in admission) statuses.push(admission.refusal.status);
    }
    expect(statuses.filter((status) => status === 401).length).toBeLessThan(100);
    expect(statuses.at(-1)).toBe(429);
    expect(await made.admit(handshake('s3cret'))).toHaveProperty('principal');
    expect(await made.admit(handshake('wrong', '127.0.0.2'))).toMatchObject({ refusal: { status: 401 } });
    clock.advance(1000);
    expect(await made.admit(handshake('wrong'))).toMatchObject({ refusal: { status: 401 } });
  });
});

describe('unixGuard', () => {
  it('lets everyone in but foreign web pages', async () => {
    const made = unixGuard({ allowOrigin: ['https://app.example'] });
    expect(await made.admit(handshake())).toEqual({ principal: localPrincipal });
    expect(made.screen({ hosts: [], origins: [] })).toBeUndefined();
    expect(made.screen({ hosts: ['x'], origins: ['https://app.example'] })).toBeUndefined();
    expect(made.screen({ hosts: ['x'], origins: ['http://evil.example'] })?.status).toBe(403);
  });
});
