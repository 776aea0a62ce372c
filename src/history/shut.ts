// A history that may be read and not written: whether it is one, and what is said to those who would write.

import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { AppError, codeOf } from '../base/errors.ts';
import { recordsDirectory, recordsFile } from './places.ts';

export interface Shut {
  /** What may not be written. */
  readonly path: string;
  /** What the system says, such as EACCES. */
  readonly code: string;
}

/** Undefined: it may be written, or there is none. Says nothing of whether it may be read. */
export function shutOf(directory: string): Shut | undefined {
  const file = recordsFile(directory);
  if (!existsSync(file)) return undefined;
  const folder = recordsDirectory(directory);
  for (const path of [file, join(folder, 'lock.mdb'), folder]) {
    const code = refusalOf(path);
    if (code !== undefined) return { path, code };
  }
  return undefined;
}

function refusalOf(path: string): string | undefined {
  try {
    accessSync(path, constants.W_OK);
    return undefined;
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? undefined : codeOf(error);
  }
}

const whyOf = ({ path, code }: Shut): string => `the history may not be written (${code} at ${path})`;

const wayOut = ({ code }: Shut): string =>
  code === 'EROFS' ? 'make its file system writable' : 'correct its permissions';

/** For people: what holds, why, and what to do. */
export const textOfShut = (shut: Shut): string =>
  `${whyOf(shut)} and is only read: ${wayOut(shut)} and start the server again; until then only ephemeral threads can be started and worked in`;

/** It would have to be changed before it could even be read. */
export const mustBeWritten = (shut: Shut, what: string): AppError =>
  new AppError('unavailable', `${whyOf(shut)}, and ${what}: ${wayOut(shut)}, or name another data directory`, {
    path: shut.path,
  });

/** For commands that write: throws *unavailable* where that may not be. */
export function requireWritable(directory: string, what: string): void {
  const shut = shutOf(directory);
  if (shut !== undefined) throw mustBeWritten(shut, what);
}

/** `shut`: as `textOfShut` says it. */
export const refused = (shut: string): AppError =>
  new AppError('unavailable', shut, { reason: 'historyReadOnly', retryable: false });
