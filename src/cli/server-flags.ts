// The flags of `heddle app-server` as typed, and the check that turns them into a plan before anything is started.

import { createHash } from 'node:crypto';
import { isAbsolute, join } from 'node:path';
import { BACKENDS, type BackendName } from '../app-backend.ts';
import { type AuthFlags, unixGuard, webSocketGuard } from '../auth/policy.ts';
import { AppError } from '../base/errors.ts';
import { flagsLayer } from '../config/layers.ts';
import { type ListenAddress, parseListenAddress } from '../transports/address.ts';
import { dataDirectoryOf } from './environment.ts';

export interface ServerFlags {
  /** Standard streams go on to a server in the background. */
  readonly isShared?: boolean | undefined;
  /** Seconds without client and work after which the server ends. */
  readonly endWhenIdle?: number | undefined;
  readonly backend?: string | undefined;
  /** Requests that one connection may have unanswered. */
  readonly queueCap?: number | undefined;
  readonly dataDir?: string | undefined;
  readonly listen: readonly string[];
  readonly config: readonly string[];
  readonly auth: AuthFlags;
}

export interface ServerPlan {
  readonly endWhenIdle: number | undefined;
  readonly backend?: BackendName;
  readonly queueCap: number | undefined;
  readonly dataDirectory: string;
  readonly addresses: readonly ListenAddress[];
  readonly configFlags: readonly string[];
  readonly auth: AuthFlags;
}

const usage = (text: string): AppError => new AppError('invalid', text);

/** The flags by which another server would have the same settings. */
export function settingFlags(
  flags: Pick<ServerPlan, 'configFlags'> & {
    readonly backend?: string | undefined;
    readonly queueCap?: number | undefined;
  },
): readonly string[] {
  const { backend, configFlags, queueCap } = flags;
  return [
    ...(backend === undefined ? [] : ['--backend', backend]),
    ...configFlags.flatMap((each) => ['-c', each]),
    ...(queueCap === undefined ? [] : ['--app-server-queue-cap', String(queueCap)]),
  ];
}

/** Tells whether two servers were given the same, and nothing of what they were given: there may be secrets in it. */
export const settingsDigest = (flags: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(flags)).digest('hex').slice(0, 32);

/** Where plain `unix://` listens. */
export function defaultSocket(dataDirectory: string): string {
  return join(dataDirectory, 'app-server-control', 'app-server-control.sock');
}

/** Rejects as *invalid*, saying what to type instead, or as *unavailable* when a file that a flag names cannot be used. */
export async function planServer(flags: ServerFlags): Promise<ServerPlan> {
  const dataDirectory = dataDirectoryOf(flags.dataDir);
  const backend = backendNamed(flags.backend);
  const addresses = addressesOf(flags.listen, dataDirectory);
  flagsLayer(flags.config);
  const { isShared, endWhenIdle, queueCap } = flags;
  if (queueCap === 0) throw usage('`--app-server-queue-cap 0` would answer nothing; type at least 1');
  const isOverStdio = addresses.some(({ kind }) => kind === 'stdio');
  if (isShared && (!isOverStdio || addresses.length > 1 || endWhenIdle !== undefined))
    throw usage('`--shared` is about standard streams; leave `--listen` and `--end-when-idle` out');
  if (endWhenIdle !== undefined && isOverStdio)
    throw usage('`--end-when-idle` is about servers that outlive their clients; add `--listen unix://`');
  await checkAuth(flags.auth, addresses, dataDirectory);
  return {
    ...(backend === undefined ? {} : { backend }),
    endWhenIdle,
    queueCap,
    dataDirectory,
    addresses,
    configFlags: flags.config,
    auth: flags.auth,
  };
}

/** Undefined: not given. Throws as *invalid*. */
export function backendNamed(name: string | undefined): BackendName | undefined {
  if (name === undefined) return undefined;
  const known = BACKENDS.find((each) => each === name);
  if (known) return known;
  const problem = name === 'external' ? 'the backend `external` is not available' : `unknown --backend \`${name}\``;
  throw usage(`${problem}; choose \`runtime\`, \`mock\` or \`unavailable\``);
}

function addressesOf(listen: readonly string[], dataDirectory: string): readonly ListenAddress[] {
  const texts = listen.length === 0 ? ['stdio://'] : listen;
  const addresses = texts.map((text) => parseListenAddress(text, defaultSocket(dataDirectory)));
  if (addresses.length > 1 && addresses.some(({ kind }) => kind === 'off'))
    throw usage('`--listen off` opens nothing and stands alone; leave it out, or leave the other --listen out');
  const seen = new Set<string>();
  for (const address of addresses) {
    if (address.kind === 'websocket' && address.port === 0) continue;
    const name = JSON.stringify(address);
    if (seen.has(name)) throw usage(`\`--listen ${texts[addresses.indexOf(address)]}\` was given twice; give it once`);
    seen.add(name);
  }
  return addresses;
}

const WEB_SOCKET_FLAGS: readonly (readonly [keyof AuthFlags, string])[] = [
  ['wsAuth', '--ws-auth'],
  ['wsTokenFile', '--ws-token-file'],
  ['wsTokenSha256', '--ws-token-sha256'],
  ['wsSharedSecretFile', '--ws-shared-secret-file'],
  ['wsIssuer', '--ws-issuer'],
  ['wsAudience', '--ws-audience'],
  ['wsMaxClockSkewSeconds', '--ws-max-clock-skew-seconds'],
  ['wsScopes', '--ws-scopes'],
  ['behindTlsProxy', '--behind-tls-proxy'],
];

/** The guards are made here once for their checks, and again by the listeners that they guard. */
async function checkAuth(auth: AuthFlags, addresses: readonly ListenAddress[], dataDirectory: string): Promise<void> {
  for (const [flag, file] of [
    ['--ws-token-file', auth.wsTokenFile],
    ['--ws-shared-secret-file', auth.wsSharedSecretFile],
  ] as const)
    if (file !== undefined && !isAbsolute(file)) throw usage(`${flag} \`${file}\` must be an absolute path`);
  const webSockets = addresses.filter((address) => address.kind === 'websocket');
  const [, given] = WEB_SOCKET_FLAGS.find(([name]) => auth[name] !== undefined) ?? [];
  if (webSockets.length === 0 && given !== undefined)
    throw usage(`\`${given}\` is about WebSocket listeners; add \`--listen ws://IP:PORT\``);
  if (auth.allowOrigin !== undefined && addresses.every(({ kind }) => kind === 'stdio' || kind === 'off'))
    throw usage('`--allow-origin` is about listeners; add `--listen ws://IP:PORT` or `--listen unix://`');
  unixGuard(auth);
  for (const { host } of webSockets) await webSocketGuard(host, auth, { dataDirectory });
}
