// Standard streams to the socket of a running server, byte by byte: lines or WebSocket, as the client likes.

import { connect, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { codeOf, messageOf } from '../base/errors.ts';
import { isOwned, type OwnerInfo, readOwner } from '../history/owner.ts';
import { dataDirectoryOf } from './environment.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { defaultSocket } from './server-flags.ts';

const SOCKET = 'unix://';

/** Until both directions have ended: at the end of our input what was asked is still answered. */
export async function proxy(options: {
  readonly sock: string | undefined;
  readonly dataDir: string | undefined;
}): Promise<ExitCode> {
  const dataDirectory = dataDirectoryOf(options.dataDir);
  const path = options.sock ?? (await runningSocket(dataDirectory))?.path ?? defaultSocket(dataDirectory);
  return passThrough(path, 'start one with `heddle app-server daemon start`');
}

/** Passes on to the server that has the data directory; undefined: there is none, or it cannot be reached by a socket. */
export async function joinRunning(dataDirectory: string, hasSettings: boolean): Promise<ExitCode | undefined> {
  const running = await runningSocket(dataDirectory);
  if (running === undefined) return undefined;
  const about = hasSettings ? '; its settings count, not those of this command line' : '';
  process.stderr.write(`heddle: joins the server that runs on ${dataDirectory} (pid ${running.owner.pid})${about}\n`);
  return passThrough(running.path, 'stop the server that does not answer');
}

async function runningSocket(
  directory: string,
): Promise<{ readonly path: string; readonly owner: OwnerInfo } | undefined> {
  const owner = (await isOwned(directory)) ? await readOwner(directory) : undefined;
  const address = owner?.endpoints.find((each) => each.startsWith(SOCKET));
  return owner && address ? { owner, path: address.slice(SOCKET.length) } : undefined;
}

async function passThrough(path: string, advice: string): Promise<ExitCode> {
  let socket: Socket;
  try {
    socket = await connected(path);
  } catch (error) {
    process.stderr.write(
      `heddle: no server answers at ${SOCKET}${path} (${codeOf(error) ?? messageOf(error)}); ${advice}\n`,
    );
    return EXIT.unreachable;
  }
  // When the server has ended, what comes in has nowhere to go.
  const input = pipeline(process.stdin, socket, { end: true }).catch(() => {});
  try {
    await pipeline(socket, process.stdout, { end: false });
  } catch (error) {
    // Whoever reads has gone, or the server has been cut off.
    socket.destroy();
    return codeOf(error) === 'EPIPE' ? EXIT.done : EXIT.failed;
  }
  socket.destroy();
  await input;
  return EXIT.done;
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
