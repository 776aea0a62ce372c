// A Connection over the platform's own WebSocket, as browsers have it.

import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { deferred } from '../base/signals.ts';
import type { CloseReason, Connection } from '../transports/connection.ts';
import { Inbox } from '../transports/inbox.ts';
import type { Dial } from './dial.ts';
import { waitingClock } from './timing.ts';

/** What a WebSocket does not tell: when it has sent what it was given. */
const LOOK_MS = 50;
const CLOSE_MS = 2_000;
const SUB_PROTOCOL = 'heddle.v1';
/** Codes that say goodbye on purpose; 1005 is a close frame without a code. */
const POLITE_CODES: readonly number[] = [1000, 1001, 1005];

/** What is used of the platform's WebSocket. */
export interface Socket {
  readonly bufferedAmount: number;
  send(text: string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: 'open' | 'error', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: { readonly code: number; readonly reason: string }) => void): void;
}

export type SocketClass = new (url: string, protocols: string[]) => Socket;

export interface WebOptions {
  /** `ws://` or `wss://`. */
  readonly url: string;
  /** Offered as a sub-protocol, since pages cannot set headers; never sent in plain text beyond this machine. */
  readonly token?: string;
  /** Default: the platform's. */
  readonly socketClass?: SocketClass;
}

/** Rejects as *unavailable* without a reason: browsers do not tell pages why a connection was refused. */
export function dialWebSocket({ url, token, socketClass }: WebOptions): Dial {
  checkUrl(url, token);
  const Class = socketClass ?? (globalThis as { WebSocket?: SocketClass }).WebSocket;
  if (!Class) throw new AppError('unsupported', 'there is no WebSocket here; in Node use heddle/client/node');
  const protocols = token === undefined ? [] : [SUB_PROTOCOL, `bearer.${base64url(token)}`];
  return () =>
    new Promise((resolve, reject) => {
      const socket = new Class(url, protocols);
      const connection = webConnection(socket, waitingClock);
      socket.addEventListener('open', () => resolve({ connection }));
      void connection.closed.then(({ text }) =>
        reject(new AppError('unavailable', `cannot connect to ${url}: ${text}`)),
      );
    });
}

function checkUrl(address: string, token: string | undefined): void {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'ws:' && url?.protocol !== 'wss:')
    throw new AppError('invalid', `cannot connect to \`${address}\`; expected \`ws://HOST:PORT\` or \`wss://HOST\``);
  if (token !== undefined && url.protocol === 'ws:' && !isThisMachine(url.hostname))
    throw new AppError('invalid', `a token is not sent to ${url.hostname} in plain text; use \`wss://\``);
}

/** Of a parsed URL, in which addresses have one form. */
const isThisMachine = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);

function base64url(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

/** Reading cannot be paused: what is not read waits in memory. */
function webConnection(socket: Socket, clock: Clock): Connection {
  const inbox = new Inbox({ pause: () => {}, resume: () => {} });
  const ended = deferred<CloseReason>();
  let reason: CloseReason | undefined;
  let isGone = false;
  const gone = (last: CloseReason): void => {
    isGone = true;
    inbox.end();
    ended.resolve(reason ?? last);
  };
  socket.addEventListener('message', ({ data }) => {
    if (typeof data === 'string') inbox.push(data, data.length);
  });
  socket.addEventListener('close', ({ code, reason: text }) => {
    gone({ kind: POLITE_CODES.includes(code) ? 'ended' : 'broken', text: text || `closed with ${code}` });
  });
  const drained = async (below: number): Promise<void> => {
    while (!isGone && socket.bufferedAmount > below)
      await new Promise<void>((resolve) => void clock.timer(LOOK_MS, resolve));
  };
  return {
    origin: 'websocket',
    frames: inbox,
    send(frames) {
      if (isGone || reason) return;
      for (const frame of frames) socket.send(typeof frame === 'string' ? frame : new TextDecoder().decode(frame));
    },
    get pending() {
      return socket.bufferedAmount;
    },
    drained,
    limitFrames() {},
    async close(why = { kind: 'ended', text: 'the client has finished' }) {
      if (!reason && !isGone) {
        reason = why;
        inbox.drop();
        socket.close(1000);
        const stop = clock.timer(CLOSE_MS, () => gone(why));
        void ended.promise.then(stop);
      }
      await ended.promise;
    },
    closed: ended.promise,
  };
}
