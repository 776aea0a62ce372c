// Reaching a server from Node: by WebSocket, or by its Unix socket.

import type { IncomingMessage } from 'node:http';
import { connect as connectSocket } from 'node:net';
import { isLoopbackName } from '../auth/origin.ts';
import { AppError, codeOf, messageOf } from '../base/errors.ts';
import { type Connection, FRAME_LIMIT } from '../transports/connection.ts';
import { lineConnection } from '../transports/streams.ts';

export interface ReachOptions {
  /** Sent as `Authorization: Bearer`; for WebSockets only. */
  readonly token?: string | undefined;
  /** Milliseconds until connecting is given up; default 10 s. */
  readonly timeoutMs?: number;
}

const CONNECT_MS = 10_000;
const MAX_REFUSAL_CHARACTERS = 2_000;
/** Servers of this protocol send no larger frame than this, in bytes. */
const MAX_FRAME_BYTES = 8 * FRAME_LIMIT;

/**
 * Connects to `unix:///ABSOLUTE/PATH`, `ws://HOST:PORT` or `wss://HOST`. Rejects as *invalid* for any other text and for a
 * token over plain text to another machine, as *unauthenticated* or *forbidden* when refused, else as *unavailable*.
 */
export async function reach(address: string, options: ReachOptions = {}): Promise<Connection> {
  if (address.startsWith('unix://')) return reachSocket(address.slice('unix://'.length), options);
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'ws:' && url?.protocol !== 'wss:')
    throw new AppError(
      'invalid',
      `cannot connect to \`${address}\`; expected \`unix:///ABSOLUTE/PATH\`, \`ws://HOST:PORT\` or \`wss://HOST\``,
    );
  if (url.username !== '' || url.password !== '' || url.hash !== '')
    throw new AppError('invalid', 'an address holds no password and no fragment; a token is sent as a header');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (options.token !== undefined && url.protocol === 'ws:' && !isLoopbackName(host))
    throw new AppError(
      'invalid',
      `a token is not sent to ${host} in plain text; use \`wss://\`, or a tunnel to a port of this machine`,
    );
  return reachWebSocket(url, options);
}

function reachSocket(path: string, options: ReachOptions): Promise<Connection> {
  if (!path.startsWith('/'))
    throw new AppError('invalid', `\`unix://${path}\` is no absolute path; expected three slashes and a path`);
  return new Promise((resolve, reject) => {
    const socket = connectSocket({ path, allowHalfOpen: true });
    const failed = (error: unknown) => {
      socket.destroy();
      reject(unreachable(`unix://${path}`, error));
    };
    const timer = setTimeout(failed, options.timeoutMs ?? CONNECT_MS, new Error('no answer in time'));
    socket.once('error', failed);
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.off('error', failed);
      resolve(lineConnection('unix', { readable: socket, writable: socket }, { frameLimit: MAX_FRAME_BYTES }));
    });
    socket.once('close', () => clearTimeout(timer));
  });
}

async function reachWebSocket(url: URL, options: ReachOptions): Promise<Connection> {
  const [{ WebSocket }, { webSocketConnection }] = await Promise.all([
    import('ws'),
    import('../transports/websocket-wire.ts'),
  ]);
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(url, {
      perMessageDeflate: false,
      maxPayload: MAX_FRAME_BYTES,
      handshakeTimeout: options.timeoutMs ?? CONNECT_MS,
      ...(options.token === undefined ? {} : { headers: { authorization: `Bearer ${options.token}` } }),
    });
    const failed = (error: unknown) => reject(unreachable(url.origin, error));
    ws.once('error', failed);
    ws.once('unexpected-response', (_request, response) => {
      void refusal(url, response).then((error) => {
        reject(error);
        ws.terminate();
      });
    });
    // Taken over before the upgrade is announced as open, so that no frame comes in between.
    ws.once('upgrade', ({ socket }) => {
      ws.once('open', () => {
        ws.off('error', failed);
        resolve(webSocketConnection(ws, socket, 'websocket', { frameLimit: MAX_FRAME_BYTES }));
      });
    });
  });
}

async function refusal(url: URL, response: IncomingMessage): Promise<AppError> {
  let text = '';
  try {
    response.setEncoding('utf8');
    for await (const part of response) {
      text += part;
      if (text.length > MAX_REFUSAL_CHARACTERS) break;
    }
  } catch {
    // What was said so far is all there is.
  }
  const status = response.statusCode ?? 0;
  const kind = status === 401 ? 'unauthenticated' : status === 403 ? 'forbidden' : 'unavailable';
  const said = text.trim().slice(0, MAX_REFUSAL_CHARACTERS) || response.statusMessage || 'no reason given';
  return new AppError(kind, `${url.origin} refused the connection (${status}): ${said}`);
}

function unreachable(address: string, error: unknown): AppError {
  if (isNoTls(error))
    return new AppError(
      'unavailable',
      `cannot connect to ${address}: it does not answer in TLS; is it a \`ws://\` port?`,
    );
  return new AppError(
    'unavailable',
    `cannot connect to ${address}: ${messageOf(error)}${adviceOn(codeOf(error) ?? '')}`,
    {},
    { cause: error },
  );
}

function adviceOn(code: string): string {
  if (code === 'ECONNREFUSED' || code === 'ENOENT')
    return '; does a server run there? `heddle app-server status` tells of those on this machine';
  if (UNTRUSTED.has(code))
    return '; name the authority of its certificate to Node: NODE_EXTRA_CA_CERTS=/path/to/authority.pem';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return '; connect by a name that the certificate has';
  return '';
}

/** What Node says of a certificate of an authority that it does not know. */
const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** OpenSSL says so of whatever it cannot read as TLS. */
function isNoTls(error: unknown): boolean {
  return codeOf(error) === 'EPROTO' || /wrong version number|packet length too long/.test(messageOf(error));
}
