// Wires that break after an exact number of bytes, in either direction, over each transport that has bytes.

import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { listenAt } from '../../src/transports/address.ts';
import type { RunningApp } from './start-app.ts';
import { lineSocketWire, streamsWire, type Wire, webSocketWire } from './wires.ts';

/** Bytes that still get through, after which both directions are cut. */
export interface Reach {
  readonly toServer: number;
  readonly toClient: number;
}

export const CUT_TRANSPORTS = ['stdio', 'unix', 'unix-lines', 'websocket'] as const;
export type CutTransport = (typeof CUT_TRANSPORTS)[number];

export interface CutDialer {
  /** Rejects when the wire breaks before it is there. */
  dial(reach: Reach): Promise<Wire>;
  close(): Promise<void>;
}

/** For an app that listens on the same transport at `address`; for stdio it listens nowhere. */
export async function cutDialer(app: RunningApp, transport: CutTransport): Promise<CutDialer> {
  if (transport === 'stdio') return { dial: (reach) => overStreams(app, reach), close: async () => {} };
  const reaches: Reach[] = [];
  const sockets = new Set<Socket>();
  const target = app.address.startsWith('unix://')
    ? { path: app.address.slice('unix://'.length) }
    : { host: '127.0.0.1', port: Number(new URL(app.address).port) };
  const proxy = createServer({ allowHalfOpen: true }, (client) => {
    const server = connect({ ...target, allowHalfOpen: true });
    for (const each of [client, server]) {
      sockets.add(each);
      each.on('error', () => {}).on('close', () => sockets.delete(each));
    }
    couple(client, server, reaches.shift() as Reach);
  });
  const path = join(app.workspace, 'cut.sock');
  const isPath = 'path' in target;
  await new Promise<void>((resolve) => (isPath ? proxy.listen(path, resolve) : proxy.listen(0, '127.0.0.1', resolve)));
  const port = isPath ? 0 : (proxy.address() as { port: number }).port;
  return {
    dial(reach) {
      reaches.push(reach);
      if (transport === 'websocket') return webSocketWire(`ws://127.0.0.1:${port}`);
      return transport === 'unix' ? webSocketWire(`ws+unix:${path}:/`) : lineSocketWire(path);
    },
    async close() {
      for (const each of sockets) each.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

async function overStreams(app: RunningApp, reach: Reach): Promise<Wire> {
  const [readable, fromClient, writable, toClient] = [
    new PassThrough(),
    new PassThrough(),
    new PassThrough(),
    new PassThrough(),
  ];
  const cut = () => {
    for (const each of [readable, fromClient, writable, toClient]) each.destroy();
  };
  for (const each of [readable, fromClient, writable, toClient]) each.on('error', () => {});
  forward(fromClient, readable, reach.toServer, cut);
  forward(writable, toClient, reach.toClient, cut);
  const listen = listenAt({ kind: 'stdio' }, { dataDirectory: app.dataDirectory, streams: { readable, writable } });
  await listen((connection, principal) => void app.app.accept(connection, principal));
  return streamsWire(fromClient, toClient);
}

function couple(client: Socket, server: Socket, reach: Reach): void {
  const cut = () => {
    client.destroy();
    server.destroy();
  };
  forward(client, server, reach.toServer, cut);
  forward(server, client, reach.toClient, cut);
  client.on('close', cut);
  server.on('close', cut);
}

/** The byte after the last one does not get through, and neither does anything else. */
function forward(from: Readable, to: Writable, reach: number, cut: () => void): void {
  let left = reach;
  from.on('data', (chunk: Buffer) => {
    if (left <= 0) return;
    const part = chunk.length > left ? chunk.subarray(0, left) : chunk;
    left -= part.length;
    if (to.destroyed) return;
    to.write(part, () => {
      if (left <= 0) cut();
    });
  });
  from.on('end', () => to.end());
}
