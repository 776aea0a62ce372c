// One server in the background that the clients of a user share. Whether it lives is asked of itself; no file is believed.

import { spawn } from 'node:child_process';
import { closeSync, openSync, statSync, truncateSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { makeFolders } from '../base/folders.ts';
import { isOwned, type OwnerInfo, readOwner } from '../history/owner.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { probe } from './status.ts';

const LOG_FILE = 'app-server.log';
/** A log that has grown beyond is begun anew at the next start. */
const MAX_LOG_BYTES = 8 * 1024 * 1024;
const START_MS = 20_000;
/** A server gives its turns five seconds. */
const STOP_MS = 10_000;
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

/** The server that answers on the directory's socket; `silent`: somebody has the directory and does not answer there. */
async function look(directory: string): Promise<Running | 'silent' | undefined> {
  if (!(await isOwned(directory))) return undefined;
  const owner = await readOwner(directory);
  const address = owner?.endpoints.find((each) => each.startsWith('unix://'));
  if (!owner || !address) return 'silent';
  return (await probe(address)).answers ? { owner, address } : 'silent';
}

const described = ({ owner, address }: Running): string =>
  `pid ${owner.pid}, version ${owner.version}, since ${owner.startedAt}, at ${address}`;

/** Starts a server unless one answers. `flags` are those of `heddle app-server`. */
export async function startDaemon(directory: string, flags: readonly string[]): Promise<ExitCode> {
  const found = await look(directory);
  if (found === 'silent') return complain(silentText(directory));
  if (found) {
    say(`runs already: ${described(found)}`);
    return EXIT.done;
  }
  makeFolders(directory);
  const logFile = join(directory, LOG_FILE);
  const log = openLog(logFile);
  const from = statSync(logFile).size;
  const child = spawn(
    process.execPath,
    [process.argv[1] as string, 'app-server', '--data-dir', directory, '--listen', 'unix://', ...flags],
    { detached: true, stdio: ['ignore', log, log], cwd: homedir() },
  );
  closeSync(log);
  const ended = new Promise<false>((resolve) =>
    child.once('exit', () => resolve(false)).once('error', () => resolve(false)),
  );
  const running = await Promise.race([ended, answering(directory)]);
  if (!running) {
    const said = (await readFile(logFile)).subarray(from).toString('utf8').trim();
    return complain(`the server did not start; it said:\n${said}`);
  }
  child.unref();
  say(`started: ${described(running)}\nlog: ${logFile}`);
  return EXIT.done;
}

/** Ends the server that runs; it settles and stores its turns first. */
export async function stopDaemon(directory: string): Promise<ExitCode> {
  const found = await look(directory);
  if (found === undefined) {
    say(`no server runs on ${directory}`);
    return EXIT.done;
  }
  if (found === 'silent') return complain(silentText(directory));
  const { owner } = found;
  if (owner.endpoints.includes('stdio://'))
    return complain(`the server (pid ${owner.pid}) belongs to the program that started it: end that one`);
  process.kill(owner.pid, 'SIGTERM');
  for (const deadline = performance.now() + STOP_MS; performance.now() < deadline; await wait(POLL_MS))
    if (!(await isOwned(directory))) {
      say(`stopped: pid ${owner.pid}`);
      return EXIT.done;
    }
  return complain(`the server (pid ${owner.pid}) has not ended within ${STOP_MS / 1000} s`);
}

export async function restartDaemon(directory: string, flags: readonly string[]): Promise<ExitCode> {
  const stopped = await stopDaemon(directory);
  return stopped === EXIT.done ? startDaemon(directory, flags) : stopped;
}

async function answering(directory: string): Promise<Running | false> {
  for (const deadline = performance.now() + START_MS; performance.now() < deadline; await wait(POLL_MS)) {
    const found = await look(directory);
    if (found !== undefined && found !== 'silent') return found;
  }
  return false;
}

function openLog(file: string): number {
  const log = openSync(file, 'a', 0o600);
  if (statSync(file).size > MAX_LOG_BYTES) truncateSync(file);
  return log;
}

const silentText = (directory: string): string =>
  `a server has the data directory ${directory} and answers at no socket: see \`heddle app-server status\`, and stop it or name another directory`;
