// What the executable takes from its surroundings: version, data directory, log level.

import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { AppError, messageOf } from '../base/errors.ts';
import { createLog, type Log } from '../base/log.ts';

/** Set when the bundle is made. */
declare const HEDDLE_VERSION: string | undefined;

export const VERSION: string = typeof HEDDLE_VERSION === 'string' ? HEDDLE_VERSION : '0.0.0-source';

/** `--data-dir`, else `HEDDLE_HOME`, else `~/.heddle`; absolute. */
export function dataDirectoryOf(flag: string | undefined): string {
  // An empty variable in a script is not meant as a choice of the default.
  if (flag === '') throw new AppError('invalid', '`--data-dir` is empty; name a directory');
  return resolve(flag || process.env.HEDDLE_HOME || join(homedir(), '.heddle'));
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Throws as *invalid* for a variable of ours with a value that means nothing; an empty one is none. */
export function checkEnvironment(environment: Readonly<Record<string, string | undefined>> = process.env): void {
  const known = { HEDDLE_LOG: LOG_LEVELS, HEDDLE_VALIDATE: ['0', '1'] } as const;
  for (const [name, values] of Object.entries(known)) {
    const value = environment[name];
    if (value && !values.some((each) => each === value))
      throw new AppError('invalid', `\`${name}=${value}\` means nothing; choose ${values.join(', ')}`);
  }
}

/** To standard error, at the level of `HEDDLE_LOG`; by default only what somebody should look at. */
export function processLog(): Log {
  const level = LOG_LEVELS.find((known) => known === process.env.HEDDLE_LOG);
  return createLog({ level: level ?? 'warn' });
}

/** For commands that people wait for: errors in words; where `HEDDLE_LOG` is set, records as those of a server. */
export function commandLog(): Log {
  if (process.env.HEDDLE_LOG) return processLog();
  const nothing = (): void => {};
  const error = (about: object, text: string): void => void process.stderr.write(`heddle: ${inWords(about, text)}\n`);
  return { debug: nothing, info: nothing, warn: nothing, error };
}

function inWords(about: { readonly threadId?: unknown; readonly err?: unknown }, text: string): string {
  const thread = about.threadId === undefined ? '' : ` (thread ${about.threadId})`;
  return `${text}${thread}${about.err === undefined ? '' : `: ${messageOf(about.err)}`}`;
}

/** Results are checked against their schemas in tests and development. */
export const validatesResults = (): boolean => process.env.HEDDLE_VALIDATE === '1';
