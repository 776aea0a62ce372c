// Who runs on a data directory: a kernel lock, and a file that says how to reach its holder.

import { realpathSync, renameSync, writeFileSync } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
// Timers that keep the process alive: nothing else does while it waits here.
import { setTimeout as wait } from 'node:timers/promises';
import { tryLock } from 'fs-native-extensions';
import { systemClock } from '../base/clock.ts';
import { type Closable, closeOnce } from '../base/close.ts';
import { AppError, codeOf, diskAdvice, isAppError, messageOf } from '../base/errors.ts';
import { makeFolders } from '../base/folders.ts';

export interface OwnerInfo {
  readonly pid: number;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly version: string;
  /** Addresses as a client would type them; empty until the server listens. */
  readonly endpoints: readonly string[];
  /** The file with the capability token of the WebSocket endpoint. */
  readonly tokenFile?: string;
  /** A digest of the flags that it was started with. */
  readonly settings?: string;
  /** Who runs the turns, by flag or file; chosen at the start. */
  readonly backend?: string;
}

/** What is known once the server listens. */
export type OwnerReach = Pick<OwnerInfo, 'endpoints' | 'tokenFile' | 'settings' | 'backend'>;

/** The directory is ours alone until `close`, or until this process ends in whatever way. */
export interface Ownership extends Closable {
  /** Real path of the data directory. */
  readonly directory: string;
  /** Tells others how to reach this server; on disk when it resolves. */
  announce(reach: OwnerReach): Promise<void>;
}

const LOCK_FILE = 'owner.lock';
const INFO_FILE = 'owner.json';

/** The owner holds both bytes of the lock file. Only owners touch the first; who just looks tries the second. */
const OWNERSHIP = 0;
const PRESENCE = 1;

/** How long a refused process waits for the owner to say who it is. */
const INTRODUCTION_MS = 600;
/** How long an owner waits for those who look at the presence byte. */
const LOOK_MS = 500;
const POLL_MS = 10;

/**
 * Takes the data directory, and makes it (0700) where there is none. Rejects as *unavailable* within a second when another
 * process has it, under whatever path, with its `pid`, `startedAt` and `endpoints` in the message and the data.
 */
export async function takeOwnership(options: {
  readonly directory: string;
  readonly version: string;
}): Promise<Ownership> {
  const directory = openDirectory(options.directory);
  const lock = await open(join(directory, LOCK_FILE), 'a+', 0o600).catch((error: unknown) => {
    throw unusable(directory, error);
  });
  let info: OwnerInfo = {
    pid: process.pid,
    startedAt: new Date().toISOString(),
    version: options.version,
    endpoints: [],
  };
  try {
    if (!tryLock(lock.fd, OWNERSHIP, 1)) throw await occupied(directory);
    await showPresence(lock);
    introduce(directory, info);
  } catch (error) {
    await lock.close();
    throw isAppError(error) ? error : unusable(directory, error);
  }
  let writing: Promise<void> = Promise.resolve();
  return {
    directory,
    announce(reach) {
      info = { ...info, ...reach };
      const content = info;
      const written = writing.then(() => writeInfo(directory, content));
      writing = written.catch(() => {});
      return written;
    },
    close: closeOnce(async () => {
      await writing;
      // Before the lock goes: afterwards the file may be another owner's. Where it has to stay, nobody takes it for a proof.
      await rm(join(directory, INFO_FILE), { force: true }).catch((error: unknown) => {
        if (diskAdvice(error) === undefined) throw error;
      });
      await lock.close();
    }),
  };
}

/** Synchronous, as is `introduce`: every start waits for it, and nothing else is to be done yet. */
function openDirectory(path: string): string {
  try {
    makeFolders(path);
    return realpathSync.native(path);
  } catch (error) {
    throw unusable(path, error);
  }
}

const PERMISSIONS = 'name another one or correct its permissions';

function unusable(path: string, error: unknown): AppError {
  const advice = diskAdvice(error);
  const way = advice ? `a server writes there: name another one, or ${advice.split(': ')[1]}` : PERMISSIONS;
  return new AppError(
    'unavailable',
    `the data directory ${path} cannot be used (${messageOf(error)}): ${way}`,
    { directory: path },
    { cause: error },
  );
}

async function showPresence(lock: FileHandle): Promise<void> {
  if (tryLock(lock.fd, PRESENCE, 1)) return;
  const deadline = systemClock.elapsed() + LOOK_MS;
  while (!tryLock(lock.fd, PRESENCE, 1)) {
    if (systemClock.elapsed() > deadline)
      throw new AppError('unavailable', 'another process keeps looking at the lock of the data directory: try again');
    await wait(POLL_MS);
  }
}

async function occupied(directory: string): Promise<AppError> {
  const owner = await introduced(directory);
  const isPrivate = owner?.endpoints.every((endpoint) => endpoint === 'stdio://');
  const who = owner
    ? `pid ${owner.pid}, started ${owner.startedAt}, ${isPrivate ? 'serving its own client only' : `reachable at ${owner.endpoints.join(', ')}`}`
    : 'it has not said who it is';
  return new AppError(
    'unavailable',
    `another server uses the data directory ${directory} (${who}): ${isPrivate ? '' : 'connect to it, '}stop it, or name another directory${isPrivate ? '; `heddle app-server daemon start` starts one that clients share' : ''}`,
    { kind: 'owned', directory, ...owner },
  );
}

/** What the running owner says of itself; a file that was left behind is waited out. */
async function introduced(directory: string): Promise<OwnerInfo | undefined> {
  const deadline = systemClock.elapsed() + INTRODUCTION_MS;
  for (;;) {
    const found = await readOwner(directory);
    const owner = found && isAlive(found.pid) ? found : undefined;
    if ((owner && owner.endpoints.length > 0) || systemClock.elapsed() > deadline) return owner;
    await wait(POLL_MS);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

const textOf = (info: OwnerInfo): string => `${JSON.stringify(info, null, 2)}\n`;

/** Says who has the directory. Not synced: once power is lost, nobody has it, whatever the file says. */
function introduce(directory: string, info: OwnerInfo): void {
  const path = join(directory, INFO_FILE);
  writeFileSync(`${path}.new`, textOf(info), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

async function writeInfo(directory: string, info: OwnerInfo): Promise<void> {
  const path = join(directory, INFO_FILE);
  const file = await open(`${path}.new`, 'w', 0o600);
  try {
    await file.writeFile(textOf(info));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
}

/** What the last owner said of itself; no proof that it runs: see `isOwned`. Undefined: nobody, or not readable. */
export async function readOwner(directory: string): Promise<OwnerInfo | undefined> {
  try {
    const found = JSON.parse(await readFile(join(directory, INFO_FILE), 'utf8')) as Partial<OwnerInfo>;
    const isWhole =
      typeof found.pid === 'number' && typeof found.startedAt === 'string' && Array.isArray(found.endpoints);
    return isWhole ? (found as OwnerInfo) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a process has the directory right now. Changes nothing, and gets in nobody's way. */
export async function isOwned(directory: string): Promise<boolean> {
  let lock: FileHandle;
  try {
    lock = await open(join(directory, LOCK_FILE), 'r');
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw unusable(directory, error);
  }
  try {
    return !tryLock(lock.fd, PRESENCE, 1, { shared: true });
  } finally {
    await lock.close();
  }
}
