// Who runs on a data directory: the lock, what its holder said of itself, and whether each address answers.

import { get } from 'node:http';
import { messageOf } from '../base/errors.ts';
import { isOwned, type OwnerInfo, readOwner } from '../history/owner.ts';
import { dataDirectoryOf } from './environment.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

export interface Endpoint {
  readonly address: string;
  /** Undefined: only whoever started the server can use it, so it was not tried. */
  readonly answers: boolean | undefined;
  readonly problem?: string;
}

const PROBE_MS = 2_000;

/** Prints to standard output. The code is 0 when a server runs, 1 when none does. */
export async function status(options: {
  readonly dataDir: string | undefined;
  readonly json: boolean;
}): Promise<ExitCode> {
  const dataDirectory = dataDirectoryOf(options.dataDir);
  const isRunning = await isOwned(dataDirectory);
  const owner = isRunning ? await readOwner(dataDirectory) : undefined;
  const endpoints = await Promise.all((owner?.endpoints ?? []).map(probe));
  const lines = options.json
    ? [JSON.stringify({ running: isRunning, dataDirectory, ...owner, endpoints })]
    : linesOf(dataDirectory, isRunning, owner, endpoints);
  process.stdout.write(`${lines.join('\n')}\n`);
  return isRunning ? EXIT.done : EXIT.failed;
}

/** Whether a server answers there: the system takes connections also for one that is stopped or hangs. */
export async function probe(address: string): Promise<Endpoint> {
  const health = address.startsWith('ws://')
    ? { url: new URL('/healthz', address.replace('ws://', 'http://')) }
    : { url: new URL('http://localhost/healthz'), socketPath: address.slice('unix://'.length) };
  if (!address.startsWith('ws://') && !address.startsWith('unix://')) return { address, answers: undefined };
  try {
    const code = await codeAt(health.url, health.socketPath);
    return code === 200 ? { address, answers: true } : { address, answers: false, problem: `healthz says ${code}` };
  } catch (error) {
    return { address, answers: false, problem: messageOf(error) };
  }
}

function codeAt(url: URL, socketPath: string | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => asked.destroy(new Error(`no answer within ${PROBE_MS / 1000} s`)), PROBE_MS);
    const asked = get(url, { agent: false, ...(socketPath === undefined ? {} : { socketPath }) });
    asked.once('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asked.once('error', reject);
    asked.once('close', () => clearTimeout(late));
  });
}

function linesOf(
  dataDirectory: string,
  isRunning: boolean,
  owner: OwnerInfo | undefined,
  endpoints: readonly Endpoint[],
): readonly string[] {
  if (!isRunning) return [`no server runs on ${dataDirectory}`];
  if (!owner) return [`a server runs on ${dataDirectory}; it has not said who it is yet`];
  return [
    `a server runs on ${dataDirectory}`,
    `  pid ${owner.pid}, version ${owner.version}, since ${owner.startedAt}`,
    ...endpoints.map(({ address, answers, problem }) => {
      if (answers === undefined) return `  ${address}`;
      return `  ${address} ${answers ? 'answers' : `does not answer: ${problem}`}`;
    }),
    ...(owner.backend === undefined ? [] : [`  backend: ${owner.backend}`]),
    ...(owner.tokenFile === undefined ? [] : [`  token file: ${owner.tokenFile}`]),
  ];
}
