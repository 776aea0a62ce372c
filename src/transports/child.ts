// A Connection to a program that we started, over its standard streams.

import type { Readable, Writable } from 'node:stream';
import { type Connection, FRAME_LIMIT } from './connection.ts';
import { lineConnection } from './streams.ts';
import type { ConnectionOptions } from './wire-connection.ts';

export interface ChildStreams {
  readonly stdin: Writable;
  readonly stdout: Readable;
}

/** Closing it closes the child's input; ending the child itself is left to whoever spawned it. */
export function childConnection(child: ChildStreams, options: ConnectionOptions = {}): Connection {
  return lineConnection(
    'child',
    { readable: child.stdout, writable: child.stdin },
    { frameLimit: FRAME_LIMIT, ...options },
  );
}
