// Rows in an LMDB environment.

import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { closeOnce } from '../base/close.ts';
import { descriptorsOpened } from '../base/descriptors.ts';
import { AppError, isAppError } from '../base/errors.ts';
import { DamagedRow, withChecksum, withoutChecksum } from './checksum.ts';
import { Commits } from './commits.ts';
import { headerProblem } from './file-header.ts';
import { compareKeys, FORMAT_VERSION, formatKey, type Key } from './keys.ts';
import { ByteRows } from './lmdb-transfer.ts';
import { Pace } from './pace.ts';
import { RECORDS_FILE } from './places.ts';
import { refusal, unreadable } from './refusal.ts';
import { breathe, type Row, type Rows, type Scan, type Transfer } from './rows.ts';
import { refused } from './shut.ts';

type LmdbKey = (string | number)[];

/** Kinds of pages that hold something; two more pages begin the file. */
const PAGES = ['treeBranchPageCount', 'treeLeafPageCount', 'overflowPages'];
const HEADER_PAGES = 2;

const RAW_STEP = 2000;
const RAW_CHARACTERS = 4 * 1024 * 1024;

export class LmdbRows implements Rows {
  readonly pace = new Pace();
  readonly shut: string | undefined;
  readonly #root: RootDatabase<string, LmdbKey>;
  readonly #bytes: ByteRows;
  readonly #commits = new Commits(
    (work) => this.#begin(work),
    (error) => this.#refused(error),
  );
  readonly #directory: string;
  #takesWrites = true;
  #isOpen = true;
  #hasFailed = false;

  /**
   * Opens the environment in a directory that exists. One process writes; others open it with `readOnly`, and who would write
   * but may not with `shut`.
   */
  constructor(directory: string, options: { readonly readOnly?: boolean; readonly shut?: string } = {}) {
    const problem = headerProblem(join(directory, RECORDS_FILE));
    if (problem !== undefined) throw unreadable(directory, new Error(problem));
    this.#directory = directory;
    this.shut = options.shut;
    this.#root = open<string, LmdbKey>({
      path: directory,
      encoding: 'string',
      // A promise that resolves means: on disk.
      overlappingSync: false,
      // Appends still share commits. With batching a refused commit also rejects a promise that nobody can reach.
      eventTurnBatching: false,
      maxDbs: 32,
      maxReaders: 512,
      readOnly: options.readOnly ?? options.shut !== undefined,
    });
    // Opening may write: not while a transaction is under way.
    this.#bytes = new ByteRows(this.#root);
    descriptorsOpened();
  }

  get(key: Key): string | undefined {
    this.#check(this.#isOpen);
    const stored = this.raw(key);
    if (stored === undefined) return undefined;
    const text = withoutChecksum(stored);
    if (text === undefined) throw new DamagedRow(key);
    return text;
  }

  /** As it is stored, in whatever format. */
  raw(key: Key): string | undefined {
    this.#check(this.#isOpen);
    try {
      return this.#root.get(key as LmdbKey);
    } catch (error) {
      throw unreadable(this.#directory, error);
    }
  }

  /** All rows as they are stored, in order, a bounded number at a time. */
  *rawSteps(): Generator<readonly Row[]> {
    let start: LmdbKey = [0];
    for (;;) {
      const rows: Row[] = [];
      let characters = 0;
      for (const { key, value } of this.#root.getRange({ start, limit: RAW_STEP })) {
        rows.push({ key, text: value });
        characters += value.length;
        if (characters > RAW_CHARACTERS) break;
      }
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows;
      start = [...last.key, 0];
    }
  }

  scan({ from, to, reverse, limit, characters = Number.POSITIVE_INFINITY }: Scan): Row[] {
    this.#check(this.#isOpen);
    const [low, high] = [from as LmdbKey, to as LmdbKey];
    const range = reverse
      ? { start: high, exclusiveStart: true, end: low, inclusiveEnd: true, reverse: true, limit }
      : { start: low, end: high, limit };
    const rows: Row[] = [];
    let total = 0;
    try {
      let before: Key | undefined;
      for (const { key, value } of this.#root.getRange(range)) {
        // In a damaged file the order may be broken, and who walks on from key to key would walk for ever.
        if (!isInOrder(before, key, from, to, reverse === true)) throw new Error('its keys are out of order');
        before = key;
        const text = withoutChecksum(value);
        rows.push(text === undefined ? { key, text: '', isDamaged: true } : { key, text });
        total += text?.length ?? 0;
        if (total >= characters) break;
      }
    } catch (error) {
      throw unreadable(this.#directory, error);
    }
    return rows;
  }

  put(key: Key, text: string): void {
    this.#root.put(key as LmdbKey, withChecksum(text));
  }

  remove(key: Key): void {
    this.#root.remove(key as LmdbKey);
  }

  transfer(from: Key, to: Key): Transfer {
    const transfer = this.#bytes.transfer(from, to);
    return {
      read: async (range) => {
        this.#check(this.#isOpen);
        try {
          return await transfer.read(range);
        } catch (error) {
          throw unreadable(this.#directory, error);
        }
      },
    };
  }

  /** A snapshot without free space into a directory that exists and is empty; writes go on meanwhile. */
  async backup(directory: string): Promise<void> {
    this.#check(this.#isOpen);
    await this.#root.backup(directory, true);
  }

  stats(): { readonly entries: number; readonly freeBytes: number } {
    this.#check(this.#isOpen);
    const stats = this.#root.getStats() as Partial<Record<string, number>> & { free?: Partial<Record<string, number>> };
    const used = PAGES.reduce((sum, name) => sum + (stats[name] ?? 0) + (stats.free?.[name] ?? 0), HEADER_PAGES);
    const free = Math.max(0, (stats.lastPageNumber ?? 0) + 1 - used);
    return { entries: stats.entryCount ?? 0, freeBytes: free * (stats.pageSize ?? 0) };
  }

  /**
   * Walks all keys from leaf to leaf, without being led by what lies above them: `missing` is how many rows the database says
   * it has and has not, `fitting` how many keys fit. Undefined while somebody writes.
   */
  async census(
    fits: (key: Key) => boolean,
  ): Promise<{ readonly missing: number; readonly fitting: number } | undefined> {
    const before = this.#root.getStats() as Partial<Record<string, number>>;
    // What is read from here on is at least as new as that.
    this.#root.resetReadTxn();
    let [count, fitting, start] = [0, 0, [0] as LmdbKey];
    for (;;) {
      const step: Key[] = [];
      try {
        for (const key of this.#root.getKeys({ start, limit: RAW_STEP })) {
          if (compareKeys(step.at(-1) ?? start, key) > 0) throw new Error('its keys are out of order');
          step.push(key);
        }
      } catch (error) {
        throw unreadable(this.#directory, error);
      }
      const last = step.at(-1);
      if (last === undefined) break;
      count += step.length;
      fitting += step.filter(fits).length;
      start = [...last, 0];
      await breathe();
    }
    const after = this.#root.getStats() as Partial<Record<string, number>>;
    const missing = (after.entryCount ?? 0) - count;
    return before.lastTxnId === after.lastTxnId ? { missing, fitting } : undefined;
  }

  write<T>(work: () => T): Promise<T> {
    return this.#noted(this.#write(work, false));
  }

  writePart<T>(work: () => T): Promise<T> {
    return this.#noted(this.#write(work, true));
  }

  writeAside<T>(work: () => T): Promise<T> {
    return this.#write(work, true);
  }

  readonly close = closeOnce(async () => {
    this.#takesWrites = false;
    // Closing the environment breaks transactions that wait for their turn.
    await this.#commits.settled();
    this.#isOpen = false;
    // After a failure it would wait for what never ends; all that was acknowledged is on disk.
    if (!this.#hasFailed) await this.#root.close();
  });

  #noted<T>(writing: Promise<T>): Promise<T> {
    this.pace.noteOthers();
    return writing.finally(() => this.pace.noteOthers());
  }

  async #write<T>(work: () => T, isPart: boolean): Promise<T> {
    this.#check(this.#takesWrites);
    if (this.shut !== undefined) throw refused(this.shut);
    return this.#commits.run(work, isPart);
  }

  #begin<T>(work: () => T): Promise<T> {
    if (this.#hasFailed) throw this.#failure();
    // Not `transaction`: what that has written stays when its callback throws.
    return this.#root.childTransaction(work);
  }

  async #refused(error: unknown): Promise<unknown> {
    if (isAppError(error)) return error;
    this.#checkRoot();
    return await refusal(this.#directory, error);
  }

  /** A refused commit does no harm, but when it was the root of the database that could not be written, no later one works. */
  #checkRoot(): void {
    if (this.#hasFailed) return;
    try {
      // By reading: a writer would wait for ever for what the failed one holds.
      this.#root.resetReadTxn();
      this.#root.get([...formatKey]);
    } catch {
      this.#hasFailed = true;
      this.#takesWrites = false;
    }
  }

  #failure(): AppError {
    const message = 'the disk failed under the history, which takes nothing more: start the server again';
    return new AppError('unavailable', message, { kind: 'storeFailed' });
  }

  #check(isPossible: boolean): void {
    if (isPossible) return;
    throw this.#hasFailed ? this.#failure() : new AppError('unavailable', 'the history is closed');
  }
}

/** The format of what lies there, `none` where there is nothing. Its first version had no checksums. */
export function formatOf(rows: LmdbRows): string {
  const stored = rows.raw(formatKey);
  if (stored === undefined) return 'none';
  const text = withoutChecksum(stored);
  if (text !== undefined) return text;
  const [sum, rest] = [stored.slice(0, -1), stored.slice(-1)];
  // One changed bit leaves either the version or its checksum whole.
  const current = String(FORMAT_VERSION);
  return sum !== '' && (rest === current || withoutChecksum(sum + current) === current) ? current : stored;
}

function isInOrder(before: Key | undefined, key: Key, from: Key, to: Key, reverse: boolean): boolean {
  if (!Array.isArray(key)) return false;
  if (before !== undefined) return compareKeys(before, key) * (reverse ? -1 : 1) < 0;
  return compareKeys(from, key) <= 0 && compareKeys(key, to) < 0;
}
