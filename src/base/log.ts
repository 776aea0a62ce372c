// Diagnostics: pino to standard error, never to standard output, which belongs to the protocol.

import type { Logger } from 'pino';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
type Level = (typeof LEVELS)[number];

/** Takes the members of a record, and a sentence. */
type Tell = (about: object, text: string) => void;

/** A logger of pino is one. */
export type Log = Readonly<Record<'debug' | 'info' | 'warn' | 'error', Tell>>;

/** Nothing below `level` (default: info) is written. Records keep their order; the first ones are on their way when pino is loaded. */
export function createLog(options: { readonly level?: Level; readonly fd?: number } = {}): Log {
  const { level = 'info', fd = 2 } = options;
  let logger: Logger | undefined;
  let waiting: ((logger: Logger) => void)[] | undefined;
  // Loaded when there is something to tell: a start that goes well has nothing.
  const load = async () => {
    const { destination, pino } = await import('pino');
    const about = { name: 'heddle', level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
    logger = pino(about, destination({ fd, sync: true }));
    for (const write of waiting ?? []) write(logger);
    waiting = undefined;
  };
  const tell = (kind: keyof Log): Tell => {
    if (LEVELS.indexOf(kind) < LEVELS.indexOf(level)) return () => {};
    return (about, text) => {
      if (logger !== undefined) return logger[kind](about, text);
      if (waiting === undefined) void load();
      waiting = [...(waiting ?? []), (loaded) => loaded[kind](about, text)];
    };
  };
  return { debug: tell('debug'), info: tell('info'), warn: tell('warn'), error: tell('error') };
}

/** A log that writes nothing, for tests and embedding. */
export const silentLog = (): Log => createLog({ level: 'silent' });
