// A Connection over one WebSocket: each text message is a frame, binary messages are ignored.

import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { codeOf, messageOf } from '../base/errors.ts';
import { type CloseReason, FRAME_LIMIT, type Origin } from './connection.ts';
import type { WriteBatch } from './outgoing.ts';
import { type ConnectionOptions, WireConnection } from './wire-connection.ts';

const CLOSE_CODES: Readonly<Record<CloseReason['kind'], number>> = {
  ended: 1000,
  shutdown: 1001,
  protocol: 1002,
  silent: 1008,
  expired: 1008,
  tooLarge: 1009,
  broken: 1011,
  slowConsumer: 1013,
};

/** What a close frame has room for, in bytes. */
const MAX_REASON_BYTES = 123;
/** Codes that say goodbye on purpose; 1005 is a close frame without a code. */
const POLITE_CODES: readonly number[] = [1000, 1001, 1005];

const TEXT = { binary: false };

/**
 * Takes over an open server-side WebSocket and the socket below it. A message above the connection's frame limit, or above
 * the `maxPayload` the WebSocket was made with, closes it with 1009; text that is not UTF-8 with 1007.
 */
export function webSocketConnection(
  ws: WebSocket,
  socket: Duplex,
  origin: Origin,
  options: ConnectionOptions = {},
): WireConnection {
  const connection = new WireConnection(
    origin,
    {
      write: textWriter(ws, socket),
      pause: () => ws.pause(),
      resume: () => ws.resume(),
      end: (reason) => ws.close(CLOSE_CODES[reason.kind], shortened(reason.text)),
      destroy: () => ws.terminate(),
    },
    options,
  );
  ws.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) return;
    if (data.length <= connection.frameLimit) connection.receive(data.toString('utf8'), data.length);
    else void connection.close(tooLarge(connection.frameLimit));
  });
  ws.on('error', (error) => void connection.close(reasonFor(error)));
  ws.once('close', (code, text) => {
    const isPolite = POLITE_CODES.includes(code);
    connection.gone({ kind: isPolite ? 'ended' : 'broken', text: text.toString() || `closed with ${code}` });
  });
  return connection;
}

/** One system call for a batch: the socket is corked while its frames are written. */
function textWriter(ws: WebSocket, socket: Duplex): WriteBatch {
  return (batch, _progress, taken) => {
    socket.cork();
    const last = batch.length - 1;
    batch.forEach((frame, index) => {
      if (index < last) ws.send(frame, TEXT);
      else ws.send(frame, TEXT, () => taken());
    });
    socket.uncork();
  };
}

function tooLarge(limit: number): CloseReason {
  return { kind: 'tooLarge', text: `a message may have ${limit} bytes` };
}

function reasonFor(error: Error): CloseReason {
  const code = codeOf(error);
  if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') return tooLarge(FRAME_LIMIT);
  return { kind: code?.startsWith('WS_ERR_') ? 'protocol' : 'broken', text: messageOf(error) };
}

/** Cut so that the bytes fit and no character is split. */
function shortened(text: string): string {
  const bytes = Buffer.from(text);
  return new TextDecoder().decode(bytes.subarray(0, MAX_REASON_BYTES), { stream: true });
}
