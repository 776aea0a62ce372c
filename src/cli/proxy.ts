// Standard streams to the socket of a running server, byte by byte: lines or WebSocket, as the client likes.

import { connect, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { codeOf, messageOf } from '../base/errors.ts';
import { dividedFlags } from '../config/connection-settings.ts';
import { isOwned, readOwner } from '../history/owner.ts';
import { dataDirectoryOf } from './environment.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { type AboutClient, tellingServer } from './first-line.ts';
import { defaultSocket } from './server-flags.ts';

const SOCKET = 'unix://';
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** How long the server may take to answer what was asked before a signal; clients kill after 2 s. */
const LAST_ANSWERS_MS = 1_000;

/** `settings`: those of the client, `key=value` each. Until both directions have ended: at the end of our input what was asked is still answered. A server that ends before is told. */
export async function proxy(options: {
  readonly sock: string | undefined;
  readonly dataDir: string | undefined;
  readonly settings: readonly string[];
}): Promise<ExitCode> {
  const dataDirectory = dataDirectoryOf(options.dataDir);
  const address =
    options.sock === undefined
      ? ((await runningSocket(dataDirectory)) ?? `${SOCKET}${defaultSocket(dataDirectory)}`)
      : `${SOCKET}${options.sock}`;
  const { ofConnection: settings, ofServer } = dividedFlags(options.settings);
  if (ofServer.length > 0)
    process.stderr.write(`heddle: ${ofServer.join(', ')} cannot be set for one client, and does not count\n`);
  return passThrough(address, settings.length > 0 ? { settings } : undefined);
}

async function runningSocket(directory: string): Promise<string | undefined> {
  const owner = (await isOwned(directory)) ? await readOwner(directory) : undefined;
  return owner?.endpoints.find((each) => each.startsWith(SOCKET));
}

/** `about`: what the server is told of this client. A signal is an end of the input. */
export async function passThrough(address: string, about?: AboutClient): Promise<ExitCode> {
  let socket: Socket;
  try {
    socket = await connected(address.slice(SOCKET.length));
  } catch (error) {
    process.stderr.write(
      `heddle: no server answers at ${address} (${codeOf(error) ?? messageOf(error)}); start one with \`heddle app-server daemon start\`\n`,
    );
    return EXIT.unreachable;
  }
  // When the server has ended, what comes in has nowhere to go.
  const input =
    about === undefined
      ? pipeline(process.stdin, socket)
      : pipeline(
          process.stdin,
          tellingServer(about, () => sayUntold(about)),
          socket,
        );
  let isAllSaid = false;
  const inputEnded = input.then(
    () => {
      isAllSaid = true;
    },
    () => {},
  );
  const stopped = endOnSignal(socket);
  const output = await pipeline(socket, process.stdout, { end: false }).catch(codeOf);
  socket.destroy();
  process.stdin.destroy();
  await inputEnded;
  // Whoever reads has gone, or has been answered everything.
  if (output === 'EPIPE' || stopped.aborted || (output === undefined && isAllSaid)) return EXIT.done;
  process.stderr.write('heddle: the server has ended the connection\n');
  return output === undefined ? EXIT.done : EXIT.failed;
}

function sayUntold({ settings }: AboutClient): void {
  if (settings.length === 0) return;
  process.stderr.write(
    'heddle: the settings of this command line do not count: the client sends no plain `initialize`\n',
  );
}

/** Aborts when the process is told to end: what was asked before is still answered. */
function endOnSignal(socket: Socket): AbortSignal {
  const stopped = new AbortController();
  const stop = () => {
    stopped.abort();
    // After the end of the input the last of it may still be on its way.
    if (!process.stdin.readableEnded) socket.end();
    setTimeout(() => socket.destroy(), LAST_ANSWERS_MS).unref();
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  return stopped.signal;
}

function connected(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}
