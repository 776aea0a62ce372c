// Diagnostics: pino to standard error, never to standard output, which belongs to the protocol.

import { destination, type Logger, pino } from 'pino';

export type Log = Logger;

export function createLog(options: { readonly level?: string; readonly fd?: number } = {}): Log {
  return pino(
    { name: 'heddle', level: options.level ?? 'info', base: null, timestamp: pino.stdTimeFunctions.isoTime },
    destination({ fd: options.fd ?? 2, sync: true }),
  );
}

/** A log that writes nothing, for tests and embedding. */
export function silentLog(): Log {
  return pino({ level: 'silent' });
}
