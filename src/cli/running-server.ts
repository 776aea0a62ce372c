// Commands that only talk to a server: the one that was named, or the one that runs on the data directory.

import { AppError } from '../base/errors.ts';
import type { Client } from '../client/client.ts';
import { isOwned, readOwner } from '../history/owner.ts';
import type { Connection } from '../transports/connection.ts';
import { tellOnStandardError, visit } from './entrance.ts';
import { dataDirectoryOf } from './environment.ts';
import { checkDoor, reachNamed, reachOwner } from './exec-door.ts';
import type { ExitCode } from './exit-codes.ts';
import { dataDirOption, single, text } from './typed.ts';

export interface ServerChoice {
  readonly remote: string | undefined;
  readonly tokenVariable: string | undefined;
  readonly dataDir: string | undefined;
}

/** Flags of commands that need a server. */
export const SERVER_CHOICE = {
  remote: text('The server to ask: unix:///PATH, ws://HOST:PORT or wss://HOST; default: the one of the data directory'),
  'remote-auth-token-env': text('The environment variable with the token for --remote', 'variable'),
  'data-dir': dataDirOption,
} as const;

/** Which server was chosen by those flags. */
export function choiceOf(args: {
  readonly remote?: string | undefined;
  readonly remoteAuthTokenEnv?: string | undefined;
  readonly dataDir?: string | undefined;
}): ServerChoice {
  return {
    remote: single('--remote', args.remote),
    tokenVariable: single('--remote-auth-token-env', args.remoteAuthTokenEnv),
    dataDir: single('--data-dir', args.dataDir),
  };
}

/** Says on standard error why no server could be reached. Rejects as the work does. */
export async function withServer(choice: ServerChoice, work: (client: Client) => Promise<ExitCode>): Promise<ExitCode> {
  checkDoor({ ...choice, backend: undefined, config: [] });
  const introduction = { name: 'heddle_cli', title: 'heddle', experimentalApi: true };
  const open = async () => {
    const connection = await connectionTo(choice);
    return { connection, close: () => connection.close() };
  };
  return visit({ open, introduction, tell: tellOnStandardError }, work);
}

/** Rejects as *unavailable*, saying what to do, when there is no such server. */
export async function connectionTo({ remote, tokenVariable, dataDir }: ServerChoice): Promise<Connection> {
  if (remote !== undefined) return reachNamed(remote, tokenVariable);
  const directory = dataDirectoryOf(dataDir);
  if (!(await isOwned(directory)))
    throw new AppError(
      'unavailable',
      `no server runs on ${directory}; start one with \`heddle app-server daemon start\``,
    );
  const owner = await readOwner(directory);
  const connection = owner && (await reachOwner(owner));
  if (connection) return connection;
  throw new AppError(
    'unavailable',
    `the server that runs on ${directory} has no address that other programs can use; it needs \`--listen unix://\``,
  );
}

/** As typed behind a command that is to lead to the same server. */
export function flagsTo({ remote, tokenVariable, dataDir }: ServerChoice): string {
  const flags = Object.entries({ remote, 'remote-auth-token-env': tokenVariable, 'data-dir': dataDir });
  return flags.map(([name, value]) => (value === undefined ? '' : ` --${name} ${quoted(value)}`)).join('');
}

const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
