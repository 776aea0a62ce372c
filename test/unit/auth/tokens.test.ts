// Bearer tokens: where they may stand, and which signed ones pass.

import { createHmac, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { capabilityDigest, capabilityVerifier, presentedToken, signedVerifier } from '../../../src/auth/tokens.ts';
import { isAppError, messageOf } from '../../../src/base/errors.ts';
import { ManualClock } from '../transports/manual-clock.ts';

const SECRET = '0123456789abcdef0123456789abcdef';
const clock = new ManualClock();
const now = clock.now() / 1000;

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function signed(claims: unknown, { secret = SECRET, header = {} }: { secret?: string; header?: object } = {}): string {
  const body = `${part({ alg: 'HS256', typ: 'JWT', ...header })}.${part(claims)}`;
  return `${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`;
}

async function outcome(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'passes';
  } catch (error) {
    expect(isAppError(error, 'unauthenticated')).toBe(true);
    return messageOf(error);
  }
}

describe('presentedToken', () => {
  const token = (authorization: readonly string[], protocols: readonly string[] = []) =>
    presentedToken({ authorization, protocols });

  it('reads the header, whatever the case of the scheme and the blanks around', () => {
    expect(token(['Bearer abc'])).toBe('abc');
    expect(token(['bearer   abc  '])).toBe('abc');
  });

  it('reads a browser sub-protocol next to heddle.v1 only', () => {
    const offer = `bearer.${Buffer.from('s3cret').toString('base64url')}`;
    expect(token([], ['heddle.v1', offer])).toBe('s3cret');
    expect(() => token([], [offer])).toThrow('missing websocket bearer token');
    expect(() => token([], ['heddle.v1', 'bearer.!!'])).toThrow('invalid websocket bearer token');
  });

  it.each([
    [[], 'missing websocket bearer token'],
    [['Basic dTpw'], 'invalid authorization header'],
    [['abc'], 'invalid authorization header'],
    [['Bearer'], 'invalid authorization header'],
    [['Bearer a b'], 'invalid authorization header'],
    [['Bearer a', 'Bearer a'], 'invalid authorization header'],
  ])('refuses %j', (authorization, text) => {
    expect(() => token(authorization)).toThrow(text);
  });

  it('refuses a header together with a sub-protocol token', () => {
    expect(() => token(['Bearer a'], ['heddle.v1', 'bearer.YQ'])).toThrow('invalid authorization header');
  });
});

describe('a capability token', () => {
  const verify = capabilityVerifier(capabilityDigest('right'));

  it('passes when it is the right one and only then', async () => {
    expect(await verify('right')).toEqual({ tenant: 'local', subject: 'capability-token' });
    for (const wrong of ['', 'Right', 'right ', capabilityDigest('right').toString('hex')])
      expect(await outcome(verify(wrong))).toBe('invalid websocket bearer token');
  });
});

describe('a signed token', () => {
  const open = signedVerifier({ secret: SECRET, skewSeconds: 30, clock });
  const strict = signedVerifier({ secret: SECRET, skewSeconds: 30, clock, issuer: 'iss-1', audience: 'aud-1' });
  const ok = { iss: 'iss-1', aud: 'aud-1', exp: now + 60 };
  const verdict = async (token: string) => outcome((await strict)(token));

  it.each([
    ['as asked', ok, 'passes'],
    ['audience in a list', { ...ok, aud: ['x', 'aud-1'] }, 'passes'],
    ['expired within the skew', { ...ok, exp: now - 29 }, 'passes'],
    ['not yet, within the skew', { ...ok, nbf: now + 29 }, 'passes'],
    ['issued in the future', { ...ok, iat: now + 3600 }, 'passes'],
    ['expired beyond the skew', { ...ok, exp: now - 31 }, 'expired websocket jwt'],
    ['not yet', { ...ok, nbf: now + 31 }, 'websocket jwt is not valid yet'],
    ['wrong issuer', { ...ok, iss: 'other' }, 'websocket jwt issuer mismatch'],
    ['no issuer', { aud: 'aud-1', exp: now + 60 }, 'websocket jwt issuer mismatch'],
    ['wrong audience', { ...ok, aud: 'other' }, 'websocket jwt audience mismatch'],
    ['no audience', { iss: 'iss-1', exp: now + 60 }, 'websocket jwt audience mismatch'],
    ['no expiry', { iss: 'iss-1', aud: 'aud-1' }, 'invalid websocket jwt'],
    ['expiry as text', { ...ok, exp: String(now + 60) }, 'invalid websocket jwt'],
    ['expiry as a fraction', { ...ok, exp: now + 60.5 }, 'invalid websocket jwt'],
    ['time of issue as text', { ...ok, iat: 'now' }, 'invalid websocket jwt'],
    ['subject that is no text', { ...ok, sub: 7 }, 'invalid websocket jwt'],
    ['tenant that is a path', { ...ok, tenant: '../other' }, 'invalid websocket jwt'],
    ['scope that is no text', { ...ok, scope: ['admin'] }, 'invalid websocket jwt'],
  ])('with claims %s', async (_label, claims, expected) => {
    expect(await verdict(signed(claims))).toBe(expected);
  });

  it('is refused for any algorithm but HS256, a bad signature, or a critical header', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const publicText = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const rsaBody = `${part({ alg: 'RS256' })}.${part(ok)}`;
    const rsa = `${rsaBody}.${signBytes('sha256', Buffer.from(rsaBody), privateKey).toString('base64url')}`;
    const [head, body, signature] = signed(ok).split('.') as [string, string, string];
    const tokens = {
      none: `${part({ alg: 'none' })}.${part(ok)}.`,
      'empty signature': `${head}.${body}.`,
      'flipped signature': `${head}.${body}.${signature.replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))}`,
      'signed with a public key': signed(ok, { secret: publicText }),
      RS256: rsa,
      HS512: signed(ok, { header: { alg: 'HS512' } }),
      'list of algorithms': signed(ok, { header: { alg: ['HS256'] } }),
      'crit of a known name': signed(ok, { header: { crit: ['b64'], b64: true } }),
      'crit of an unknown name': signed(ok, { header: { crit: ['x'], x: 1 } }),
      'wrong secret': signed(ok, { secret: 'f'.repeat(32) }),
      garbage: 'a.b.c',
      empty: '',
    };
    for (const [label, token] of Object.entries(tokens))
      expect([label, await verdict(token)]).toEqual([label, 'invalid websocket jwt']);
  });

  it('makes the grant from its claims; unknown scopes are passed over', async () => {
    const claims = { exp: now + 60, sub: 'ann', tenant: 'acme', scope: 'thread:read email admin' };
    expect(await (await open)(signed(claims))).toEqual({
      tenant: 'acme',
      subject: 'ann',
      permissions: new Set(['thread:read', 'admin']),
      expiresAtMs: (now + 90) * 1000,
    });
    expect(await (await open)(signed({ exp: now + 60, iss: 'any', aud: 'any' }))).toEqual({
      tenant: 'local',
      subject: 'signed-bearer-token',
      expiresAtMs: (now + 90) * 1000,
    });
  });
});
