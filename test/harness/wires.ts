// The client's end of each transport, as plainly as the wire allows: frames out, frames in, and rude behaviour on demand.

import { connect, type Socket } from 'node:net';
import type { PassThrough } from 'node:stream';
import { WebSocket } from 'ws';
import { deferred } from '../../src/base/signals.ts';
import type { Connection } from '../../src/transports/connection.ts';

export interface Wire {
  send(text: string): void;
  /** One message, cut where the pieces end; a transport without bytes joins them. */
  sendPieces(pieces: readonly Buffer[]): Promise<void>;
  /** Stops and continues reading. */
  pause(): void;
  resume(): void;
  /** Says goodbye: no more will be sent. */
  end(): void;
  /** Lets go of the wire at once. */
  cut(): void;
  /** Frames go here as they arrive; set before anything is sent. */
  onFrame: (text: string) => void;
  /** Settles when the other side has closed, with the code if the wire has one. */
  readonly closed: Promise<number | undefined>;
}

const nowhere = (): void => {};

export function memoryWire(connection: Connection): Wire {
  let gate = deferred();
  gate.resolve();
  const wire: Wire = {
    onFrame: nowhere,
    send: (text) => connection.send([text]),
    sendPieces: async (pieces) => connection.send([Buffer.concat(pieces)]),
    pause: () => {
      gate = deferred();
    },
    resume: () => gate.resolve(),
    end: () => void connection.close({ kind: 'ended', text: 'the client has finished' }),
    cut: () => void connection.close({ kind: 'ended', text: 'the client has gone' }),
    closed: connection.closed.then(() => undefined),
  };
  void (async () => {
    for await (const frame of connection.frames) {
      await gate.promise;
      wire.onFrame(frame as string);
    }
  })();
  return wire;
}

/** Lines over a pair of streams: what a child process has as standard input and output. */
export function streamsWire(toServer: PassThrough, fromServer: PassThrough): Wire {
  const closed = deferred<undefined>();
  const wire = lineWire({
    write: (data, taken) => void toServer.write(data, () => taken()),
    pause: () => fromServer.pause(),
    resume: () => fromServer.resume(),
    end: () => void toServer.end(),
    cut: () => {
      toServer.destroy();
      fromServer.destroy();
    },
    closed: closed.promise,
  });
  fromServer.on('data', wire.received);
  fromServer.on('close', () => closed.resolve(undefined));
  return wire;
}

export async function lineSocketWire(path: string): Promise<Wire> {
  const socket: Socket = connect({ path, allowHalfOpen: true });
  const opened = deferred();
  const closed = deferred<undefined>();
  socket.on('connect', opened.resolve);
  socket.on('error', (error) => {
    opened.reject(error);
    closed.resolve(undefined);
  });
  socket.on('end', () => closed.resolve(undefined));
  socket.on('close', () => closed.resolve(undefined));
  const wire = lineWire({
    write: (data, taken) => void socket.write(data, () => taken()),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    end: () => void socket.end(),
    cut: () => socket.destroy(),
    closed: closed.promise,
  });
  socket.on('data', wire.received);
  await opened.promise;
  return wire;
}

type Bytes = Pick<Wire, 'pause' | 'resume' | 'end' | 'cut' | 'closed'> & {
  write(data: Buffer | string, taken: () => void): void;
};

function lineWire({ write, ...rest }: Bytes): Wire & { readonly received: (chunk: Buffer) => void } {
  let pieces: Buffer[] = [];
  const wire = {
    ...rest,
    onFrame: nowhere as (text: string) => void,
    send: (text: string) => write(`${text}\n`, nowhere),
    async sendPieces(parts: readonly Buffer[]) {
      for (const part of parts) {
        await new Promise<void>((resolve) => write(part, resolve));
        await new Promise(setImmediate);
      }
    },
    received(chunk: Buffer) {
      let from = 0;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
        pieces.push(chunk.subarray(from, at));
        const line = Buffer.concat(pieces).toString('utf8');
        pieces = [];
        from = at + 1;
        wire.onFrame(line);
      }
      if (from < chunk.length) pieces.push(chunk.subarray(from));
    },
  };
  return wire;
}

/** `address` as `ws` takes it; a Unix socket is `ws+unix:PATH:/`. */
export async function webSocketWire(address: string): Promise<Wire> {
  const ws = new WebSocket(address, { perMessageDeflate: false, maxPayload: 256 * 1024 * 1024 });
  const opened = deferred();
  const closed = deferred<number | undefined>();
  ws.on('open', opened.resolve);
  ws.on('error', opened.reject);
  ws.on('close', closed.resolve);
  const wire: Wire = {
    onFrame: nowhere,
    send: (text) => ws.send(text),
    async sendPieces(parts) {
      for (const [index, part] of parts.entries()) {
        const fin = index === parts.length - 1;
        await new Promise<void>((resolve) => ws.send(part, { fin, binary: false }, () => resolve()));
      }
    },
    pause: () => ws.pause(),
    resume: () => ws.resume(),
    end: () => ws.close(),
    cut: () => ws.terminate(),
    closed: closed.promise,
  };
  ws.on('message', (data) => wire.onFrame(data.toString()));
  await opened.promise;
  return wire;
}
