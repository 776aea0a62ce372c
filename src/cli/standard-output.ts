// Keeps standard output for the protocol: whatever else writes there, by console or by itself, lands on standard error.

import type { LineStreams } from '../transports/streams.ts';

/** The streams of the protocol. From then on `process.stdout`, and with it the console, is standard error. To be called before the console is used. */
export function claimStandardStreams(): LineStreams {
  const streams = { readable: process.stdin, writable: process.stdout };
  Object.defineProperty(process, 'stdout', { configurable: true, enumerable: true, get: () => process.stderr });
  // A parent that has closed our standard error is no reason to die.
  process.stderr.on('error', () => {});
  return streams;
}
