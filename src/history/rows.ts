// Ordered rows of text under transactions: all that the store needs of a database.

import type { Closable } from '../base/close.ts';
import { DamagedRow } from './checksum.ts';
import type { Key, KeyRange } from './keys.ts';

export interface Row {
  readonly key: Key;
  /** Empty when it is damaged. */
  readonly text: string;
  /** What is stored there is not what was written. */
  readonly isDamaged?: true;
  /** The value as the database has it. */
  readonly stored?: string;
}

export interface Scan extends KeyRange {
  readonly reverse?: boolean;
  readonly limit: number;
  /** Ends the scan behind the row that reaches this many characters; a scan gives at least one row if there is one. */
  readonly characters?: number;
}

export interface Rows extends Closable {
  /** Inside `write` it sees what this transaction has written, elsewhere what is on disk. Throws `DamagedRow`. */
  get(key: Key): string | undefined;
  scan(scan: Scan): Row[];
  /** Only inside `write`. */
  put(key: Key, text: string): void;
  /** Only inside `write`: the value of a row that is not damaged, under another key. */
  copy(key: Key, row: Row): void;
  /** Only inside `write`. */
  remove(key: Key): void;
  /**
   * One transaction. `work` is synchronous; what it throws undoes its writes and is the rejection. Resolves when it is on disk;
   * rejects as *unavailable* when the disk refuses, and then nothing was written.
   */
  write<T>(work: () => T): Promise<T>;
}

/** Throws `DamagedRow`. */
export function undamaged(row: Row): Row {
  if (row.isDamaged) throw new DamagedRow(row.key);
  return row;
}

/** Lets other work run between two steps of a long one. */
export const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
