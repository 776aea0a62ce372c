// What `--listen` accepts, and the listener each address stands for.

import { isIP } from 'node:net';
import { isAbsolute } from 'node:path';
import { type AuthFlags, unixGuard, webSocketGuard } from '../auth/policy.ts';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Listen } from './connection.ts';
import { listenOnStdio } from './stdio.ts';
import type { LineStreams } from './streams.ts';

export type ListenAddress =
  | { readonly kind: 'stdio' }
  | { readonly kind: 'off' }
  | { readonly kind: 'unix'; readonly path: string }
  /** `port` 0: any free one. */
  | { readonly kind: 'websocket'; readonly host: string; readonly port: number };

const MAX_PORT = 65_535;

/** Throws as *invalid*, with a text that says what to type instead. `defaultSocket`: the path that plain `unix://` means. */
export function parseListenAddress(text: string, defaultSocket: string): ListenAddress {
  if (text === 'off') return { kind: 'off' };
  if (text === 'stdio://') return { kind: 'stdio' };
  if (text === 'unix://') return { kind: 'unix', path: defaultSocket };
  if (text.startsWith('unix://')) return unixAddress(text);
  if (text.startsWith('ws://')) return webSocketAddress(text);
  throw new AppError(
    'invalid',
    `unsupported --listen URL \`${text}\`; expected \`stdio://\`, \`unix://\`, \`unix:///ABSOLUTE/PATH\`, \`ws://IP:PORT\`, or \`off\``,
  );
}

function unixAddress(text: string): ListenAddress {
  const path = text.slice('unix://'.length);
  if (isAbsolute(path) && !path.includes('\0')) return { kind: 'unix', path };
  throw new AppError(
    'invalid',
    `invalid unix --listen URL \`${text}\`; expected an absolute path with three slashes, such as \`unix:///run/heddle.sock\``,
  );
}

function webSocketAddress(text: string): ListenAddress {
  const parts = /^ws:\/\/(?:\[([^\]]+)\]|([^:/]+)):(\d{1,5})\/?$/.exec(text);
  const host = parts?.[1] ?? parts?.[2] ?? '';
  const port = Number(parts?.[3]);
  const isBracketed = parts?.[1] !== undefined;
  if (isIP(host) === (isBracketed ? 6 : 4)) {
    if (port <= MAX_PORT) return { kind: 'websocket', host, port };
    throw new AppError('invalid', `invalid websocket --listen URL \`${text}\`; a port is at most ${MAX_PORT}`);
  }
  throw new AppError(
    'invalid',
    `invalid websocket --listen URL \`${text}\`; expected \`ws://IP:PORT\` with an IP address, not a host name, ` +
      'such as `ws://127.0.0.1:4500`, `ws://[::1]:4500`, or port 0 for a free one',
  );
}

export interface ListenOptions {
  readonly flags?: AuthFlags | undefined;
  /** Where a token is made when a loopback WebSocket listener has no auth flags. */
  readonly dataDirectory: string;
  readonly clock?: Clock | undefined;
  /** For `stdio://`; default: this process's own. */
  readonly streams?: LineStreams | undefined;
  readonly firstFrameMs?: number | undefined;
}

/** The listener of an address. Its guard is made, and its flags are checked, when it starts. `off` never accepts anyone. */
export function listenAt(address: ListenAddress, options: ListenOptions): Listen {
  const { flags = {}, dataDirectory, clock, streams, firstFrameMs } = options;
  switch (address.kind) {
    case 'off':
      return async () => ({ address: 'off', close: async () => {} });
    case 'stdio':
      return listenOnStdio({ streams, ...(clock ? { clock } : {}) });
    // Loaded on use: a server on standard input needs neither HTTP nor WebSocket.
    case 'unix':
      return async (accept) => {
        const { listenOnUnix } = await import('./unix.ts');
        return listenOnUnix({ path: address.path, guard: unixGuard(flags, clock), clock, firstFrameMs })(accept);
      };
    case 'websocket':
      return async (accept) => {
        const guard = await webSocketGuard(address.host, flags, { dataDirectory, clock });
        const { listenOnWebSocket } = await import('./websocket.ts');
        return listenOnWebSocket({ host: address.host, port: address.port, guard, clock, firstFrameMs })(accept);
      };
  }
}
