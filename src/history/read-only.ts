// A history opened by who only looks: a server may be running on it, and nothing is changed.

import { existsSync } from 'node:fs';
import type { Closable } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
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

/** What to say of a database that cannot be used at all. */
export function unreadable(directory: string, cause: unknown): AppError {
  const file = recordsFile(directory);
  return new AppError(
    'unavailable',
    `the history in ${file} is damaged and cannot be opened: run "heddle history repair --from BACKUP", which sets it aside, ` +
      'or move the file away to begin with an empty history',
    { kind: 'damaged', path: file },
    { cause },
  );
}
