// From the flags of a listener to its guard: which combinations are safe, who is local, and what they may do.

import { type Clock, systemClock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { createGuard, type Guard } from './guard.ts';
import { allowedOrigin, isLoopbackAddress, publicName } from './origin.ts';
import { localPrincipal, PERMISSIONS, type Permission, type Principal } from './principal.ts';
import { ownToken, readSecretFile } from './secrets.ts';
import {
  capabilityDigest,
  capabilityVerifier,
  DEFAULT_SKEW_SECONDS,
  type Grant,
  MIN_SECRET_BYTES,
  signedVerifier,
  type Verify,
} from './tokens.ts';

export const WS_AUTH_MODES = ['capability-token', 'signed-bearer-token', 'none'] as const;
export type WsAuthMode = (typeof WS_AUTH_MODES)[number];

/** The flags as typed; an undefined one was not given. */
export interface AuthFlags {
  readonly wsAuth?: string | undefined;
  readonly wsTokenFile?: string | undefined;
  readonly wsTokenSha256?: string | undefined;
  readonly wsSharedSecretFile?: string | undefined;
  readonly wsIssuer?: string | undefined;
  readonly wsAudience?: string | undefined;
  readonly wsMaxClockSkewSeconds?: number | undefined;
  readonly wsScopes?: readonly string[] | undefined;
  readonly allowOrigin?: readonly string[] | undefined;
  readonly behindTlsProxy?: readonly string[] | undefined;
}

export interface GuardOptions {
  /** Where the token is made when a loopback listener has no auth flags. */
  readonly dataDirectory: string;
  readonly clock?: Clock | undefined;
}

const REMOTE_CAPABILITY: readonly Permission[] = ['thread:read', 'thread:write', 'approval:resolve'];

const usage = (text: string): AppError => new AppError('invalid', text);

/** A Unix socket: file modes decide who comes, so everyone is the local user; only foreign web origins are refused. */
export function unixGuard(flags: AuthFlags = {}, clock: Clock = systemClock): Guard {
  return createGuard({
    origins: new Set((flags.allowOrigin ?? []).map(allowedOrigin)),
    principal: () => localPrincipal,
    advice: '',
    clock,
  });
}

/**
 * The guard of a WebSocket listener on `ip`. Rejects as *invalid* for flags that do not fit together, and as *unavailable*
 * when what they name cannot be used or the listener would not be safe; each text says what to do instead.
 */
export async function webSocketGuard(ip: string, flags: AuthFlags, options: GuardOptions): Promise<Guard> {
  const mode = checkedMode(flags);
  const isLoopback = isLoopbackAddress(ip);
  const publicNames = (flags.behindTlsProxy ?? []).map(publicName);
  const isLocal = isLoopback && publicNames.length === 0;
  checkExposure(ip, mode, isLoopback, publicNames.length > 0);
  const origins = new Set((flags.allowOrigin ?? []).map(allowedOrigin));
  const remotePermissions = new Set([...REMOTE_CAPABILITY, ...(flags.wsScopes ?? []).map(permission)]);
  const clock = options.clock ?? systemClock;
  const { verify, tokenFile } = await verifierFor(mode, flags, { ...options, clock });
  const isSigned = mode === 'signed-bearer-token';
  return createGuard({
    origins,
    hosts: { acceptsLoopback: isLoopback, publicNames },
    ...(verify ? { verify } : {}),
    ...(tokenFile === undefined ? {} : { tokenFile }),
    principal: (grant) => principalOf(grant, isLocal, isSigned ? new Set() : remotePermissions),
    advice: adviceFor(isSigned, isLocal ? tokenFile : undefined),
    clock,
  });
}

/** A token that names permissions has those; otherwise local principals have all, remote ones `remote`. */
function principalOf(grant: Grant | undefined, isLocal: boolean, remote: ReadonlySet<Permission>): Principal {
  if (!grant) return localPrincipal;
  const { tenant, subject, expiresAtMs } = grant;
  const permissions = grant.permissions ?? (isLocal ? new Set(PERMISSIONS) : remote);
  return { tenant, subject, permissions, isLocal, ...(expiresAtMs === undefined ? {} : { expiresAtMs }) };
}

function adviceFor(isSigned: boolean, tokenFile: string | undefined): string {
  const what = isSigned ? '<a JWT signed with the shared secret>' : '<token>';
  const where = tokenFile === undefined ? '' : `; the token is in ${tokenFile}`;
  return `send the header \`Authorization: Bearer ${what}\`${where}`;
}

function checkedMode(flags: AuthFlags): WsAuthMode | undefined {
  const mode = WS_AUTH_MODES.find((known) => known === flags.wsAuth);
  if (flags.wsAuth !== undefined && mode === undefined)
    throw usage(`invalid --ws-auth \`${flags.wsAuth}\`; expected one of ${WS_AUTH_MODES.join(', ')}`);
  const ofCapability = flags.wsTokenFile !== undefined || flags.wsTokenSha256 !== undefined;
  const ofSigned = [flags.wsSharedSecretFile, flags.wsIssuer, flags.wsAudience, flags.wsMaxClockSkewSeconds].some(
    (flag) => flag !== undefined,
  );
  if ((ofCapability || ofSigned) && (mode === undefined || mode === 'none'))
    throw usage('websocket auth flags require `--ws-auth capability-token` or `--ws-auth signed-bearer-token`');
  if (ofCapability && mode === 'signed-bearer-token')
    throw usage('`--ws-token-file` and `--ws-token-sha256` require `--ws-auth capability-token`');
  if (ofSigned && mode === 'capability-token')
    throw usage(
      '`--ws-shared-secret-file`, `--ws-issuer`, `--ws-audience`, and `--ws-max-clock-skew-seconds` require `--ws-auth signed-bearer-token`',
    );
  if (flags.wsScopes?.length && (mode === 'signed-bearer-token' || mode === 'none'))
    throw usage('`--ws-scopes` adds to a capability token; use it with `--ws-auth capability-token`');
  return mode;
}

function checkExposure(ip: string, mode: WsAuthMode | undefined, isLoopback: boolean, isProxied: boolean): void {
  const needsAuth = !isLoopback || (isProxied && mode === 'none');
  if (needsAuth && (mode === undefined || mode === 'none'))
    throw new AppError(
      'unavailable',
      `refusing to start ${isLoopback ? 'proxied' : 'non-loopback'} websocket listener on ${ip} without auth; ` +
        'configure `--ws-auth capability-token` or `--ws-auth signed-bearer-token`' +
        (isLoopback ? '' : ', or listen on `ws://127.0.0.1:PORT`'),
    );
  if (!isLoopback && !isProxied)
    throw new AppError(
      'unavailable',
      `refusing to start non-loopback websocket listener on ${ip} in plain text; put a TLS proxy in front and name it ` +
        'with `--behind-tls-proxy HOST`, or listen on `ws://127.0.0.1:PORT`',
    );
}

function permission(name: string): Permission {
  const known = PERMISSIONS.find((each) => each === name.trim());
  if (known === undefined) throw usage(`unknown scope \`${name}\` in --ws-scopes; known are ${PERMISSIONS.join(', ')}`);
  return known;
}

interface Verification {
  readonly verify?: Verify;
  readonly tokenFile?: string;
}

async function verifierFor(
  mode: WsAuthMode | undefined,
  flags: AuthFlags,
  options: { readonly dataDirectory: string; readonly clock: Clock },
): Promise<Verification> {
  if (mode === 'none') return {};
  if (mode === 'signed-bearer-token') return { verify: await signedFrom(flags, options.clock) };
  if (mode === 'capability-token') return capabilityFrom(flags);
  const { token, file } = await ownToken(options.dataDirectory);
  return { verify: capabilityVerifier(capabilityDigest(token)), tokenFile: file };
}

async function capabilityFrom({ wsTokenFile, wsTokenSha256 }: AuthFlags): Promise<Verification> {
  if (wsTokenFile !== undefined && wsTokenSha256 !== undefined)
    throw usage('`--ws-token-file` and `--ws-token-sha256` are mutually exclusive');
  if (wsTokenSha256 !== undefined) {
    if (!/^[\da-f]{64}$/i.test(wsTokenSha256))
      throw usage('--ws-token-sha256 must be a 64-character hex SHA-256 digest');
    return { verify: capabilityVerifier(Buffer.from(wsTokenSha256, 'hex')) };
  }
  if (wsTokenFile === undefined)
    throw usage('`--ws-token-file` or `--ws-token-sha256` is required when `--ws-auth capability-token` is set');
  const token = await readSecretFile(wsTokenFile);
  return { verify: capabilityVerifier(capabilityDigest(token)), tokenFile: wsTokenFile };
}

async function signedFrom(flags: AuthFlags, clock: Clock): Promise<Verify> {
  const file = flags.wsSharedSecretFile;
  if (file === undefined)
    throw usage('`--ws-shared-secret-file` is required when `--ws-auth signed-bearer-token` is set');
  const skewSeconds = flags.wsMaxClockSkewSeconds ?? DEFAULT_SKEW_SECONDS;
  if (!Number.isSafeInteger(skewSeconds) || skewSeconds < 0)
    throw usage('--ws-max-clock-skew-seconds must be a whole number of seconds, 0 or more');
  const secret = await readSecretFile(file);
  if (Buffer.byteLength(secret) < MIN_SECRET_BYTES)
    throw new AppError(
      'unavailable',
      `signed websocket bearer secret ${file} must be at least ${MIN_SECRET_BYTES} bytes; make one with: heddle token new --file PATH`,
    );
  return signedVerifier({ secret, issuer: flags.wsIssuer, audience: flags.wsAudience, skewSeconds, clock });
}
