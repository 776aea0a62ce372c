// Listening for WebSockets on an IP address and port.

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isIPv6 } from 'node:net';
import type { Guard } from '../auth/guard.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { closeOnce } from '../base/close.ts';
import { AppError, codeOf, messageOf } from '../base/errors.ts';
import type { Listen } from './connection.ts';
import { createHandshakeServer } from './handshakes.ts';
import { Newcomers } from './newcomers.ts';

/** File descriptors are finite; beyond so many connections new ones are dropped. */
const MAX_CONNECTIONS = 4096;

export interface WebSocketOptions {
  readonly host: string;
  /** 0: any free port; the listener's address names it. */
  readonly port: number;
  readonly guard: Guard;
  readonly clock?: Clock | undefined;
  /** Time from connecting to the first frame, in milliseconds. */
  readonly firstFrameMs?: number | undefined;
}

export function listenOnWebSocket(options: WebSocketOptions): Listen {
  const { host, port, guard, clock = systemClock } = options;
  return async (accept) => {
    const newcomers = new Newcomers(clock, options.firstFrameMs);
    const server = createHandshakeServer({ guard, accept, origin: 'websocket', newcomers, clock });
    server.maxConnections = MAX_CONNECTIONS;
    await listening(server, host, port);
    const name = isIPv6(host) ? `[${host}]` : host;
    return {
      address: `ws://${name}:${(server.address() as AddressInfo).port}`,
      ...(guard.tokenFile === undefined ? {} : { tokenFile: guard.tokenFile }),
      close: closeOnce(async () => {
        server.close();
        newcomers.close();
      }),
    };
  };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const text = `cannot listen on ws://${host}:${port}: ${messageOf(error)}`;
      const advice = codeOf(error) === 'EADDRINUSE' ? '; choose another port, or 0 for a free one' : '';
      reject(new AppError('unavailable', text + advice, {}, { cause: error }));
    });
    server.listen({ host, port, exclusive: true }, resolve);
  });
}
