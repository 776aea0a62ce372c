// A Connection of JSON lines over a readable and a writable stream, which may be one socket.

import type { Readable, Writable } from 'node:stream';
import { systemClock } from '../base/clock.ts';
import { codeOf, messageOf } from '../base/errors.ts';
import type { CloseReason, Connection, Origin } from './connection.ts';
import { LineReader } from './lines.ts';
import { BATCH_BYTES, type WriteBatch } from './outgoing.ts';
import { CLOSE_MS, type ConnectionOptions, WireConnection } from './wire-connection.ts';

const LINE_END = Buffer.from('\n');
const OTHER_SIDE_CLOSED: CloseReason = { kind: 'ended', text: 'the other side closed the connection' };

export interface LineStreams {
  readonly readable: Readable;
  readonly writable: Writable;
}

/**
 * Takes both streams over: their errors end the connection, and closing it ends the writable and destroys the readable.
 * The end of the readable is the end of `frames` only; sending goes on until the close. Frames sent must hold no newline.
 */
export function lineConnection(origin: Origin, streams: LineStreams, options: ConnectionOptions = {}): Connection {
  const { readable, writable } = streams;
  const destroy = (): void => {
    readable.destroy();
    writable.destroy();
  };
  const end = (reason: CloseReason): void => {
    writable.end(() => {
      destroy();
      connection.gone(reason);
    });
  };
  const connection = new WireConnection(
    origin,
    {
      write: lineWriter(writable),
      pause: () => readable.pause(),
      resume: () => readable.resume(),
      end,
      destroy() {
        destroy();
        // Standard output never says that it was closed.
        connection.gone({ kind: 'broken', text: 'the other side did not read what was left' });
      },
    },
    options,
  );
  const lines = new LineReader(
    () => connection.frameLimit,
    (frame, bytes) => connection.receive(frame, bytes),
  );
  const broken = (error: unknown): void => {
    destroy();
    connection.gone(reasonFor(error));
  };
  readable.on('data', (chunk: Buffer) => lines.push(chunk));
  readable.once('end', () => {
    lines.end();
    connection.inputEnded();
  });
  readable.on('error', broken);
  if (readable === (writable as unknown)) {
    readable.once('close', () => connection.gone(OTHER_SIDE_CLOSED));
    return connection;
  }
  // A program that ends closes its input first; what it has written must still be read.
  writable.on('error', (error) => {
    if (readable.closed) broken(error);
    else (options.clock ?? systemClock).timer(CLOSE_MS, () => broken(error));
  });
  for (const [one, other] of [
    [readable, writable],
    [writable, readable],
  ] as const)
    one.once('close', () => {
      if (other.closed) connection.gone(OTHER_SIDE_CLOSED);
    });
  return connection;
}

/** Joins a batch into one buffer and writes it in slices, so that a slow reader's progress shows. */
function lineWriter(writable: Writable): WriteBatch {
  return (batch, progress, taken) => {
    const data = Buffer.concat(batch.flatMap((frame) => [frame, LINE_END]));
    const writeFrom = (from: number): void => {
      const next = from + BATCH_BYTES;
      writable.write(data.subarray(from, next), (error) => {
        if (error || next >= data.length || writable.writableEnded) {
          taken();
          return;
        }
        progress();
        writeFrom(next);
      });
    };
    writeFrom(0);
  };
}

function reasonFor(error: unknown): CloseReason {
  const code = codeOf(error);
  if (code === 'EPIPE' || code === 'ECONNRESET') return { kind: 'ended', text: 'the other side has gone' };
  return { kind: 'broken', text: messageOf(error) };
}
