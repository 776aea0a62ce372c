// One server in the background that the clients of a user share. Whether it lives is asked of itself; no file is believed.

import { spawn } from 'node:child_process';
import { closeSync, openSync, realpathSync, statSync, truncateSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError, codeOf } from '../base/errors.ts';
import { makeFolders } from '../base/folders.ts';
import { isOwned, type OwnerInfo, readOwner } from '../history/owner.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { settingsDigest } from './server-flags.ts';
import { probe } from './status.ts';

const LOG_FILE = 'app-server.log';
/** A log that has grown beyond is begun anew at the next start. */
const MAX_LOG_BYTES = 8 * 1024 * 1024;
const START_MS = 20_000;
/** A server gives its turns five seconds. */
const STOP_MS = 10_000;
/** How long somebody may have the directory without answering. */
const PASSING_MS = 10_000;
const POLL_MS = 50;

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const complain = (text: string): ExitCode => {
  process.stderr.write(`heddle: ${text}\n`);
  return EXIT.failed;
};

interface Running {
  readonly owner: OwnerInfo;
  readonly address: string;
}

/** `passing`: somebody has the directory who starts, ends or hangs. `private`: by no socket can anybody reach who has it. */
async function look(directory: string): Promise<Running | 'passing' | 'private' | undefined> {
  if (!(await isOwned(directory))) return undefined;
  const owner = await readOwner(directory);
  if (!owner || owner.endpoints.length === 0) return 'passing';
  const address = owner.endpoints.find((each) => each.startsWith('unix://'));
  if (!address) return 'private';
  return (await probe(address)).answers ? { owner, address } : 'passing';
}

/** The server that answers on the directory's socket, once it is clear; `silent`: somebody has the directory and answers nowhere. */
export async function findServer(directory: string): Promise<Running | 'silent' | undefined> {
  for (const deadline = performance.now() + PASSING_MS; ; await wait(POLL_MS)) {
    const found = await look(directory);
    if (found === 'private' || (found === 'passing' && performance.now() > deadline)) return 'silent';
    if (found !== 'passing') return found;
  }
}

const described = ({ owner, address }: Running): string =>
  `pid ${owner.pid}, version ${owner.version}, since ${owner.startedAt}, at ${address}`;

/** Starts a server for people unless one answers. `flags` are those of `heddle app-server`. */
export async function startDaemon(directory: string, flags: readonly string[]): Promise<ExitCode> {
  const found = await startServer(directory, flags);
  if (found === 'silent') return complain(silentText(directory));
  if (found.isNew) {
    process.stderr.write(adviceIn(found.said));
    say(`started: ${described(found)}\nlog: ${join(directory, LOG_FILE)}`);
  } else {
    say(`runs already: ${described(found)}`);
    if (flags.length > 0 && found.owner.settings !== settingsDigest(flags))
      process.stderr.write('its settings count, not those of this command line\n');
  }
  return EXIT.done;
}

/** What a server says before it tells where it listens: there people read what to choose or to correct. */
function adviceIn(said: string): string {
  const end = said.search(/^heddle app-server \d/m);
  return end < 0 ? said : said.slice(0, end);
}

/** The server that answers, started if there is none; `said` is what a new one has written so far. Rejects as *unavailable* with what it said when it does not start. */
export async function startServer(
  directory: string,
  flags: readonly string[],
): Promise<(Running & { readonly isNew: boolean; readonly said: string }) | 'silent'> {
  const found = await findServer(directory);
  if (found === 'silent') return found;
  if (found) return { ...found, isNew: false, said: '' };
  makeFolders(directory);
  const logFile = join(directory, LOG_FILE);
  const log = openLog(logFile);
  const from = statSync(logFile).size;
  const child = spawn(
    process.execPath,
    [executable(), 'app-server', '--data-dir', directory, '--listen', 'unix://', ...flags],
    { detached: true, stdio: ['ignore', log, log], cwd: homedir() },
  );
  closeSync(log);
  const hasEnded = new Promise<true>((resolve) => {
    child.once('exit', () => resolve(true)).once('error', () => resolve(true));
  });
  child.unref();
  const running = await answering(directory, hasEnded);
  const said = (await readFile(logFile)).subarray(from).toString('utf8');
  if (running) return { ...running, isNew: running.owner.pid === child.pid, said };
  throw new AppError('unavailable', `the server did not start; it said:\n${said.trim()}`);
}

/** Ends the server that runs; it settles and stores its turns first. */
export async function stopDaemon(directory: string): Promise<ExitCode> {
  const found = await findServer(directory);
  if (found === undefined) {
    say(`no server runs on ${directory}`);
    return EXIT.done;
  }
  if (found === 'silent') return complain(silentText(directory));
  const { owner } = found;
  if (owner.endpoints.includes('stdio://'))
    return complain(`the server (pid ${owner.pid}) belongs to the program that started it: end that one`);
  terminate(owner.pid);
  for (const deadline = performance.now() + STOP_MS; performance.now() < deadline; await wait(POLL_MS))
    if (!(await isOwned(directory))) {
      say(`stopped: pid ${owner.pid}`);
      return EXIT.done;
    }
  return complain(`the server (pid ${owner.pid}) has not ended within ${STOP_MS / 1000} s`);
}

/** It may have ended by itself meanwhile. */
function terminate(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

export async function restartDaemon(directory: string, flags: readonly string[]): Promise<ExitCode> {
  const stopped = await stopDaemon(directory);
  return stopped === EXIT.done ? startDaemon(directory, flags) : stopped;
}

/** Ours, whatever name this process was started by. */
const executable = (): string => join(dirname(realpathSync(process.argv[1] as string)), 'heddle.js');

/** Somebody else may have been quicker than the one that was started: then that one ends, and this one answers. */
async function answering(directory: string, hasEnded: Promise<true>): Promise<Running | undefined> {
  let isOver = false;
  void hasEnded.then(() => {
    isOver = true;
  });
  for (const deadline = performance.now() + START_MS; performance.now() < deadline; ) {
    const wasOver = isOver;
    const found = await look(directory);
    if (typeof found === 'object') return found;
    if (wasOver && found === undefined) return undefined;
    await wait(POLL_MS);
  }
  return undefined;
}

function openLog(file: string): number {
  const log = openSync(file, 'a', 0o600);
  if (statSync(file).size > MAX_LOG_BYTES) truncateSync(file);
  return log;
}

const silentText = (directory: string): string =>
  `a server has the data directory ${directory} and answers at no socket: see \`heddle app-server status\`, and stop it or name another directory`;
