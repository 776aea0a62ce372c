// Who runs on a data directory: the lock, what its holder said of itself, and whether each address answers.

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

/** Whether a server answers there. */
export async function probe(address: string): Promise<Endpoint> {
  try {
    if (address.startsWith('ws://')) {
      const health = new URL('/healthz', address.replace('ws://', 'http://'));
      const { ok, status: code } = await fetch(health, { signal: AbortSignal.timeout(PROBE_MS) });
      return ok ? { address, answers: true } : { address, answers: false, problem: `healthz says ${code}` };
    }
    if (!address.startsWith('unix://')) return { address, answers: undefined };
    const { reach } = await import('../client/node.ts');
    const connection = await reach(address, { timeoutMs: PROBE_MS });
    await connection.close();
    return { address, answers: true };
  } catch (error) {
    return { address, answers: false, problem: messageOf(error) };
  }
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
