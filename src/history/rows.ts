// Ordered rows of text under transactions: all that the store needs of a database.

import type { Closable } from '../base/close.ts';
import { DamagedRow } from './checksum.ts';
import type { Key, KeyRange } from './keys.ts';
import type { Pace } from './pace.ts';

export interface Row {
  readonly key: Key;
  /** Empty when it is damaged. */
  readonly text: string;
  /** What is stored there is not what was written. */
  readonly isDamaged?: true;
}

export interface Scan extends KeyRange {
  readonly reverse?: boolean;
  readonly limit: number;
  /** Ends the scan behind the row that reaches this many characters; a scan gives at least one row if there is one. */
  readonly characters?: number;
}

/** Some rows of a range, in order, on their way to other keys. Nothing of them has been decoded. */
export interface Batch {
  readonly length: number;
  /** One of them is not what was written. */
  readonly isDamaged: boolean;
  /** Where a row comes from. */
  key(index: number): Key;
  /** UTF-8 of a row. It may be changed in place; `changed` has to follow. */
  text(index: number): Buffer;
  changed(index: number): void;
  /** Only inside `write`. */
  put(index: number): void;
}

/** Takes rows below one key to the same places below another. */
export interface Transfer {
  /**
   * The first rows of a range below the one key, as many as fit; none: there are none. Lets other work run meanwhile. What it
   * gave is good until it has been called twice more.
   */
  read(range: KeyRange): Promise<Batch>;
}

export interface Rows extends Closable {
  /** Why nothing may be written, for people: whatever writes is rejected with it. Absent: it may. */
  readonly shut?: string | undefined;
  /** Inside `write` it sees what this transaction has written, elsewhere what is on disk. Throws `DamagedRow`. */
  get(key: Key): string | undefined;
  scan(scan: Scan): Row[];
  /** Only inside `write`. */
  put(key: Key, text: string): void;
  /** Only inside `write`. */
  remove(key: Key): void;
  transfer(from: Key, to: Key): Transfer;
  /**
   * One transaction. `work` is synchronous; what it throws undoes its writes and is the rejection. Resolves when it is on disk;
   * rejects as *unavailable* when the disk refuses, and then nothing was written.
   */
  write<T>(work: () => T): Promise<T>;
  /** As `write`, for one of many parts of something long: who already waits does not wait for it too. */
  writePart<T>(work: () => T): Promise<T>;
  /** As `writePart`, for work that nobody waits for: between two such transactions it asks `pace`. */
  writeAside<T>(work: () => T): Promise<T>;
  readonly pace: Pace;
}

/** Throws `DamagedRow`. */
export function undamaged(row: Row): Row {
  if (row.isDamaged) throw new DamagedRow(row.key);
  return row;
}

/** The rows of a range, `limit` of them in memory at a time. What is removed on the way does not disturb it. */
export function* inSteps(rows: Rows, { from, to }: KeyRange, limit: number): Generator<Row, void> {
  let step: readonly Row[];
  do {
    step = rows.scan({ from, to, limit });
    yield* step;
    const last = step.at(-1);
    if (last) from = [...last.key, 0];
  } while (step.length === limit);
}

/** Lets other work run between two steps of a long one. */
export const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
