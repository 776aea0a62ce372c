// The one connection of a process that was started by its client: JSON lines on standard input and output.

import { localPrincipal } from '../auth/principal.ts';
import type { Connection, Listen } from './connection.ts';
import { type LineStreams, lineConnection } from './streams.ts';
import type { ConnectionOptions } from './wire-connection.ts';

export interface StdioOptions extends Omit<ConnectionOptions, 'firstFrameMs'> {
  /** Default: this process's standard input and output. */
  readonly streams?: LineStreams | undefined;
}

/** A client that started us may stay silent as long as it likes. */
export function stdioConnection(options: StdioOptions = {}): Connection {
  const { streams = { readable: process.stdin, writable: process.stdout }, ...rest } = options;
  return lineConnection('stdio', streams, rest);
}

/** Accepts once, at once; closing the listener leaves the connection to whoever accepted it. */
export function listenOnStdio(options: StdioOptions = {}): Listen {
  return async (accept) => {
    accept(stdioConnection(options), localPrincipal);
    return { address: 'stdio://', close: async () => {} };
  };
}
