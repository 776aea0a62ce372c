// Where a turn of `heddle exec` runs: the server that was named, the one that runs on the data directory, or this process.

import { isLoopbackName } from '../auth/origin.ts';
import { localPrincipal } from '../auth/principal.ts';
import { readSecretFile } from '../auth/secrets.ts';
import type { Closable } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import { reach } from '../client/node.ts';
import { isOwned, type OwnerInfo, readOwner } from '../history/owner.ts';
import type { Connection } from '../transports/connection.ts';
import { memoryPair } from '../transports/memory.ts';
import { commandLog, dataDirectoryOf, VERSION, validatesResults } from './environment.ts';
import { backendNamed, settingFlags, settingsDigest } from './server-flags.ts';
import { withTokenAdvice } from './token-advice.ts';

export interface DoorOptions {
  readonly remote: string | undefined;
  readonly tokenVariable: string | undefined;
  readonly backend: string | undefined;
  readonly dataDir: string | undefined;
  readonly config: readonly string[];
}

export interface Door extends Closable {
  readonly connection: Connection;
  /** The server sees the same files as this process. */
  readonly isHere: boolean;
  /** What the person should know about it. */
  readonly notes: readonly string[];
  /** Why every turn would fail; empty: nothing is known of it. */
  readonly obstacles: readonly string[];
}

/** Throws as *invalid* when the flags do not fit together. */
export function checkDoor(options: DoorOptions): void {
  const { remote, tokenVariable, backend, config } = options;
  backendNamed(backend);
  if (remote === undefined && tokenVariable !== undefined)
    throw new AppError('invalid', '`--remote-auth-token-env` is about `--remote`; name the server with `--remote URL`');
  if (remote !== undefined && (backend !== undefined || config.length > 0))
    throw new AppError(
      'invalid',
      'a remote server has a backend and settings of its own; leave `--backend` and `-c` out',
    );
  if (tokenVariable !== undefined && !process.env[tokenVariable])
    throw new AppError('invalid', `the environment variable ${tokenVariable} is empty; put the token into it`);
}

/** Rejects when the server cannot be reached or not be started. */
export async function openDoor(options: DoorOptions): Promise<Door> {
  const { remote, tokenVariable } = options;
  if (remote !== undefined) {
    return remoteDoor(await reachNamed(remote, tokenVariable), isSameMachine(remote), []);
  }
  const dataDirectory = dataDirectoryOf(options.dataDir);
  const owner = (await isOwned(dataDirectory)) ? await readOwner(dataDirectory) : undefined;
  const running = owner && (await reachOwner(owner));
  if (!running) return ownDoor(dataDirectory, options);
  const wanted = settingFlags({ backend: options.backend, configFlags: options.config });
  const ignored = wanted.length > 0 && owner.settings !== settingsDigest(wanted);
  return remoteDoor(
    running,
    true,
    ignored ? [`the server that runs on ${dataDirectory} is used; its backend and settings count`] : [],
  );
}

/** With the token in that variable. Rejects as `reach` does, saying where a token comes from that is missing or wrong. */
export async function reachNamed(address: string, tokenVariable: string | undefined): Promise<Connection> {
  const token = tokenVariable === undefined ? undefined : process.env[tokenVariable]?.trim();
  return reach(address, { token }).catch((error: unknown) => {
    throw withTokenAdvice(error, { address, source: tokenVariable, isFound: false });
  });
}

function remoteDoor(connection: Connection, isHere: boolean, notes: readonly string[]): Door {
  return { connection, isHere, notes, obstacles: [], close: () => connection.close() };
}

export function isSameMachine(address: string): boolean {
  if (!URL.canParse(address)) return false;
  return address.startsWith('unix://') || isLoopbackName(new URL(address).hostname.replace(/^\[(.*)\]$/, '$1'));
}

/** Undefined: it has no address that this process could use, and starting another one will say so. */
export async function reachOwner({ endpoints, tokenFile }: OwnerInfo): Promise<Connection | undefined> {
  const socket = endpoints.find((address) => address.startsWith('unix://'));
  if (socket !== undefined) return reach(socket);
  const local = endpoints.find((address) => address.startsWith('ws://') && isSameMachine(address));
  if (local === undefined) return undefined;
  const token = tokenFile === undefined ? undefined : await readSecretFile(tokenFile);
  return reach(local, { token }).catch((error: unknown) => {
    throw withTokenAdvice(error, { address: local, source: tokenFile, isFound: true });
  });
}

async function ownDoor(dataDirectory: string, { backend, config }: DoorOptions): Promise<Door> {
  const [{ createApp }, { backendLines }] = await Promise.all([import('../app.ts'), import('./announcement.ts')]);
  const chosen = backendNamed(backend);
  const app = await createApp({
    dataDirectory,
    cwd: process.cwd(),
    version: VERSION,
    log: commandLog(),
    environment: process.env,
    configFlags: config,
    validatesResults: validatesResults(),
    ...(chosen === undefined ? {} : { backend: chosen }),
  });
  const [near, far] = memoryPair();
  app.accept(far, localPrincipal);
  return {
    connection: near,
    isHere: true,
    notes: [],
    obstacles: backendLines(app),
    close: async () => {
      await near.close();
      await app.close();
    },
  };
}
