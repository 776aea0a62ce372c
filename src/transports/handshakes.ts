// The HTTP side of a listener: health probes, and the WebSocket handshake behind its guard.

import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { Guard, Handshake, Refusal } from '../auth/guard.ts';
import type { Principal } from '../auth/principal.ts';
import { SUBPROTOCOL } from '../auth/tokens.ts';
import type { Clock } from '../base/clock.ts';
import { type Accept, FRAME_LIMIT } from './connection.ts';
import { closeAtExpiry } from './expiry.ts';
import { Heartbeat } from './heartbeat.ts';
import type { Newcomers } from './newcomers.ts';
import { webSocketConnection } from './websocket-wire.ts';
import { CLOSE_MS } from './wire-connection.ts';

const MAX_HEADER_BYTES = 16 * 1024;
const HEALTH_PATHS: readonly string[] = ['/healthz', '/readyz'];
const PLAIN_TEXT = 'text/plain; charset=utf-8';

export interface HandshakeOptions {
  readonly guard: Guard;
  readonly accept: Accept;
  readonly origin: 'websocket' | 'unix';
  readonly newcomers: Newcomers;
  readonly clock: Clock;
}

/** An HTTP server that is not listening yet. It never keeps a connection alive and never sends a CORS header. */
export function createHandshakeServer(options: HandshakeOptions): Server {
  const { guard, newcomers } = options;
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, requireHostHeader: false, keepAliveTimeout: 1 });
  const upgrade = upgrader(options);
  server.on('connection', (socket) => newcomers.watch(socket));
  server.on('request', (request, response) => answer(guard, request, response));
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    const refusal = guard.screen(handshakeOf(request));
    if (refusal) refuse(socket, refusal);
    else void upgrade(request, socket, head);
  });
  return server;
}

type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>;

function upgrader(options: HandshakeOptions): Upgrade {
  const webSockets = new WebSocketServer({
    noServer: true,
    maxPayload: FRAME_LIMIT,
    perMessageDeflate: false,
    clientTracking: false,
    closeTimeout: CLOSE_MS,
    handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    // The published types do not know closeTimeout yet.
  } as ConstructorParameters<typeof WebSocketServer>[0]);
  const heartbeat = new Heartbeat(options.clock);
  return async (request, socket, head) => {
    const admission = await options.guard.admit(handshakeOf(request));
    if (socket.destroyed) return;
    if ('refusal' in admission) {
      refuse(socket, admission.refusal);
      return;
    }
    webSockets.handleUpgrade(request, socket, head, (ws) => {
      take(options, heartbeat, ws, request, socket, admission.principal);
    });
  };
}

function take(
  options: HandshakeOptions,
  heartbeat: Heartbeat,
  ws: Parameters<typeof webSocketConnection>[0],
  request: IncomingMessage,
  socket: Duplex,
  principal: Principal,
): void {
  const { clock, newcomers } = options;
  const firstFrameMs = newcomers.release(socket);
  const connection = webSocketConnection(ws, socket, options.origin, { clock, firstFrameMs });
  const stopHeartbeat = heartbeat.watch({
    bytesRead: () => request.socket.bytesRead,
    isExcused: () => connection.isPaused || connection.pending > 0,
    ping: () => ws.ping(),
    dead: () => void connection.close({ kind: 'silent', text: 'no answer to pings' }),
  });
  void connection.closed.then(stopHeartbeat);
  closeAtExpiry(connection, principal, clock);
  options.accept(connection, principal);
}

function answer(guard: Guard, request: IncomingMessage, response: ServerResponse): void {
  response.shouldKeepAlive = false;
  const refusal = guard.screen(handshakeOf(request));
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const path = request.url?.split('?', 1)[0] ?? '';
  if (refusal) reply(response, refusal.status, refusal.text);
  else if (HEALTH_PATHS.includes(path)) {
    if (!isRead) response.setHeader('Allow', 'GET, HEAD');
    response.writeHead(isRead ? 200 : 405, { 'Content-Length': 0 }).end();
  } else if (isRead && path === '/') {
    response.setHeader('Upgrade', 'websocket');
    reply(response, 426, 'this is a WebSocket endpoint; connect with a WebSocket client');
  } else reply(response, 400, 'not a WebSocket handshake; connect with a WebSocket client, or ask /healthz or /readyz');
}

function reply(response: ServerResponse, status: number, text: string): void {
  const body = `${text}\n`;
  const headers = { 'Content-Type': PLAIN_TEXT, 'Content-Length': Buffer.byteLength(body) };
  response.writeHead(status, headers).end(body);
}

/** Ends an upgrade that is not granted with an ordinary HTTP answer. */
function refuse(socket: Duplex, { status, text }: Refusal): void {
  const body = `${text}\n`;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    `Content-Type: ${PLAIN_TEXT}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(status === 401 ? ['WWW-Authenticate: Bearer'] : []),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

function handshakeOf(request: IncomingMessage): Handshake {
  const headers = request.headersDistinct;
  return {
    hosts: headers.host ?? [],
    origins: headers.origin ?? [],
    authorization: headers.authorization ?? [],
    protocols: (headers['sec-websocket-protocol'] ?? []).flatMap((list) => list.split(',')).map((name) => name.trim()),
    address: request.socket.remoteAddress ?? 'local',
  };
}
