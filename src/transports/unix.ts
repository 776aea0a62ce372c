// Listening on a Unix socket; the first byte of a client tells whether it speaks WebSocket or plain JSON lines.

import { chmodSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { isMainThread } from 'node:worker_threads';
import type { Guard } from '../auth/guard.ts';
import { localPrincipal } from '../auth/principal.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { closeOnce } from '../base/close.ts';
import { AppError, codeOf, messageOf } from '../base/errors.ts';
import type { Accept, Listen } from './connection.ts';
import { createHandshakeServer } from './handshakes.ts';
import { Newcomers } from './newcomers.ts';
import { freeSocketPath, inUse } from './socket-file.ts';
import { lineConnection } from './streams.ts';

/** `G` of `GET`: no JSON text begins so. */
const HTTP_FIRST_BYTE = 0x47;
const SOCKET_MODE = 0o600;

export interface UnixOptions {
  /** Absolute path of the socket file. */
  readonly path: string;
  /** Decides about browser origins; the file's mode decides about the rest. */
  readonly guard: Guard;
  readonly clock?: Clock | undefined;
  /** Time from connecting to the first frame, in milliseconds. */
  readonly firstFrameMs?: number | undefined;
}

/** Everyone who can open the socket is the local user. The socket file is removed when the listener closes. */
export function listenOnUnix(options: UnixOptions): Listen {
  const { path, clock = systemClock } = options;
  return async (accept) => {
    await freeSocketPath(path);
    const newcomers = new Newcomers(clock, options.firstFrameMs);
    const server = createServer({ allowHalfOpen: true });
    server.on('connection', receptionist(options, clock, newcomers, accept));
    await listening(server, path);
    return {
      address: `unix://${path}`,
      close: closeOnce(async () => {
        server.close();
        newcomers.close();
      }),
    };
  };
}

function receptionist(
  { guard }: UnixOptions,
  clock: Clock,
  newcomers: Newcomers,
  accept: Accept,
): (socket: Socket) => void {
  const http = createHandshakeServer({ guard, accept, origin: 'unix', newcomers, clock });
  return (socket) => {
    newcomers.watch(socket);
    const gone = (): void => void socket.destroy();
    socket.once('error', gone);
    socket.once('end', gone);
    socket.once('data', (chunk: Buffer) => {
      socket.pause();
      socket.off('error', gone);
      socket.off('end', gone);
      const isHttp = chunk[0] === HTTP_FIRST_BYTE;
      if (isHttp) http.emit('connection', socket);
      else {
        const firstFrameMs = newcomers.release(socket);
        const streams = { readable: socket, writable: socket };
        accept(lineConnection('unix', streams, { clock, firstFrameMs }), localPrincipal);
      }
      socket.unshift(chunk);
      socket.resume();
    });
  };
}

/** Binding and setting the mode happen in one go, and nobody else can connect in between. */
function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      if (codeOf(error) === 'EADDRINUSE') reject(inUse(path));
      else reject(new AppError('unavailable', `cannot listen on unix://${path}: ${messageOf(error)}`));
    });
    // Worker threads cannot set the mask; there the mode is right a moment later.
    const mask = isMainThread ? process.umask(0o177) : undefined;
    try {
      server.listen(path, resolve);
      if (server.listening) chmodSync(path, SOCKET_MODE);
    } catch (error) {
      reject(error);
    } finally {
      if (mask !== undefined) process.umask(mask);
    }
  });
}
