// Bearer tokens of a WebSocket handshake: where they stand, and whether they are right.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { LOCAL_TENANT, PERMISSIONS, type Permission } from './principal.ts';

/** The only sub-protocol the server answers with. */
export const SUBPROTOCOL = 'heddle.v1';
const TOKEN_PROTOCOL = 'bearer.';

/** Below this many bytes a shared secret can be guessed from one token. */
export const MIN_SECRET_BYTES = 32;
export const DEFAULT_SKEW_SECONDS = 30;

/** The handshake's header values, each occurrence by itself. */
export interface Presented {
  readonly authorization: readonly string[];
  readonly protocols: readonly string[];
}

export interface Grant {
  readonly tenant: string;
  readonly subject: string;
  /** Undefined: the token names none. */
  readonly permissions?: ReadonlySet<Permission>;
  readonly expiresAtMs?: number;
}

/** Rejects as *unauthenticated*, with a text that may be shown to whoever asked. */
export type Verify = (token: string) => Promise<Grant>;

const refused = (text: string): AppError => new AppError('unauthenticated', text);

/**
 * The one token of a handshake, from `Authorization: Bearer` or, for browsers, from the sub-protocol
 * `bearer.<base64url>` offered next to `heddle.v1`. Throws as *unauthenticated* if there is none, or more than one.
 */
export function presentedToken({ authorization, protocols }: Presented): string {
  const offered = protocols.includes(SUBPROTOCOL) ? protocols.filter((name) => name.startsWith(TOKEN_PROTOCOL)) : [];
  const [header] = authorization;
  if (authorization.length + offered.length > 1) throw refused('invalid authorization header');
  if (header !== undefined) return tokenOfHeader(header);
  const encoded = offered[0]?.slice(TOKEN_PROTOCOL.length);
  if (encoded === undefined) throw refused('missing websocket bearer token');
  if (!/^[\w-]+$/.test(encoded)) throw refused('invalid websocket bearer token');
  return Buffer.from(encoded, 'base64url').toString('utf8').trim();
}

function tokenOfHeader(header: string): string {
  const [scheme, ...rest] = header.trim().split(/\s+/);
  const [token] = rest;
  if (scheme?.toLowerCase() !== 'bearer' || token === undefined || rest.length > 1)
    throw refused('invalid authorization header');
  return token;
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** One token for everyone; compared by digest in constant time. `digest`: SHA-256 of the token, 32 bytes. */
export function capabilityVerifier(digest: Buffer): Verify {
  return async (token) => {
    if (!timingSafeEqual(digestOf(token), digest)) throw refused('invalid websocket bearer token');
    return { tenant: LOCAL_TENANT, subject: 'capability-token' };
  };
}

export const capabilityDigest = digestOf;

export interface SignedOptions {
  readonly secret: string;
  readonly issuer?: string | undefined;
  readonly audience?: string | undefined;
  readonly skewSeconds: number;
  readonly clock: Clock;
}

/** JSON Web Tokens signed with HS256 and nothing else. `secret`: at least 32 bytes. */
export async function signedVerifier(options: SignedOptions): Promise<Verify> {
  const { jwtVerify, errors } = await import('jose');
  const secret = Buffer.from(options.secret);
  const checks = {
    algorithms: ['HS256'],
    requiredClaims: ['exp'],
    clockTolerance: options.skewSeconds,
    ...(options.issuer === undefined ? {} : { issuer: options.issuer }),
    ...(options.audience === undefined ? {} : { audience: options.audience }),
  };
  return async (token) => {
    try {
      const currentDate = new Date(options.clock.now());
      const { payload, protectedHeader } = await jwtVerify(token, secret, { ...checks, currentDate });
      if (protectedHeader.crit !== undefined) throw refused('invalid websocket jwt');
      return grantOf(payload, options.skewSeconds);
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw refused('expired websocket jwt');
      if (error instanceof errors.JWTClaimValidationFailed) throw refused(claimText(error.claim, error.reason));
      throw refused('invalid websocket jwt');
    }
  };
}

function claimText(claim: string, reason: string): string {
  if (claim === 'iss') return 'websocket jwt issuer mismatch';
  if (claim === 'aud') return 'websocket jwt audience mismatch';
  if (claim === 'nbf' && reason === 'check_failed') return 'websocket jwt is not valid yet';
  return 'invalid websocket jwt';
}

/** Tenants name partitions of the store, so their form is narrow. */
const TENANT = /^[\w.-]{1,64}$/;

function grantOf(claims: Readonly<Record<string, unknown>>, skewSeconds: number): Grant {
  const { exp, sub = 'signed-bearer-token', tenant = LOCAL_TENANT, scope } = claims;
  if (typeof exp !== 'number' || !Number.isSafeInteger(exp)) throw refused('invalid websocket jwt');
  if (typeof sub !== 'string' || typeof tenant !== 'string' || !TENANT.test(tenant))
    throw refused('invalid websocket jwt');
  if (scope !== undefined && typeof scope !== 'string') throw refused('invalid websocket jwt');
  const grant = { tenant, subject: sub, expiresAtMs: (exp + skewSeconds) * 1000 };
  return scope === undefined ? grant : { ...grant, permissions: permissionsIn(scope) };
}

/** Names that are not permissions of ours belong to other services and are passed over. */
function permissionsIn(scope: string): ReadonlySet<Permission> {
  const named = new Set(scope.split(' '));
  return new Set(PERMISSIONS.filter((permission) => named.has(permission)));
}
