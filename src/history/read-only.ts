// A history opened by who only looks: a server may be running on it, and nothing is changed.

import { accessSync, constants, existsSync } from 'node:fs';
import type { Closable } from '../base/close.ts';
import { AppError, codeOf } from '../base/errors.ts';
import { readBlob } from './blobs.ts';
import { checkFormat } from './keys.ts';
import { formatOf, LmdbRows } from './lmdb-rows.ts';
import { blobsDirectory, noHistory, recordsDirectory, recordsFile } from './places.ts';

export interface OpenedHistory extends Closable {
  readonly rows: LmdbRows;
  readonly directory: string;
  /** Undefined: missing or damaged. */
  readBlob(hash: string): Promise<string | undefined>;
}

/** Throws *notFound* when there is no history, *unavailable* when another version wrote it or the file is no database. */
export async function openReadOnly(directory: string): Promise<OpenedHistory> {
  if (!existsSync(recordsFile(directory))) throw noHistory(directory);
  const rows = opened(directory);
  try {
    checkFormat(formatOf(rows), directory);
  } catch (error) {
    await rows.close();
    throw error;
  }
  return {
    rows,
    directory,
    readBlob: (hash) => readBlob(blobsDirectory(directory), hash),
    close: () => rows.close(),
  };
}

function opened(directory: string): LmdbRows {
  try {
    return new LmdbRows(recordsDirectory(directory), { readOnly: true });
  } catch (error) {
    throw unreadable(directory, error);
  }
}

/** Whether a command that only looked complained about the version of the history, and about nothing else. */
export const isOfOtherFormat = (complaint: string): boolean => /has (the older )?format \d{1,4}\b/.test(complaint);

/** The same, and a server would bring it up to date. */
export const isOfOlderFormat = (complaint: string): boolean => /has the older format \d{1,4}\b/.test(complaint);

/** What to say of a database that cannot be used at all. `mode`: what is needed of the file. */
export function unreadable(directory: string, cause: unknown, mode = constants.R_OK): AppError {
  const file = recordsFile(directory);
  const shut = shutBy(file, mode);
  if (shut !== undefined) {
    const way = mode === constants.R_OK ? 'read' : 'written';
    const message = `the history in ${file} may not be ${way} (${shut}): correct its permissions, or name another data directory`;
    return new AppError('unavailable', message, { path: file }, { cause });
  }
  return new AppError(
    'unavailable',
    `the history in ${file} is damaged and cannot be opened: run "heddle history repair --from BACKUP", which sets it aside, ` +
      'or move the file away to begin with an empty history',
    { kind: 'damaged', path: file },
    { cause },
  );
}

/** Why the system does not let us at it. */
function shutBy(file: string, mode: number): string | undefined {
  try {
    accessSync(file, mode);
    return undefined;
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? undefined : codeOf(error);
  }
}
