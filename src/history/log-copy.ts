// Writing a whole log in chunks under an id that nobody sees before the last of them: for forks and imports.

import { systemClock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { StoredEvent } from '../model/event.ts';
import type { ApprovalId, Seq, ThreadId, TurnId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { useBlobs } from './blob-uses.ts';
import { moveListed } from './catalogue.ts';
import { firstLink, type Link, nextLink, sealAnew, sealed } from './chain.ts';
import { type Gap, sealedGap } from './gaps.ts';
import { removalKey } from './keys.ts';
import { prepare } from './log-writer.ts';
import type { Source } from './reader.ts';
import { type BlobRef, encodeRow } from './records.ts';
import { removeRows } from './removal.ts';
import type { Batch } from './rows.ts';
import type { EventToStore } from './store.ts';
import { applyChange, tableReader } from './table-rows.ts';
import { type Change, derive, derivePlace, type TableReader, type TurnSpan } from './tables.ts';
import { noteMessages } from './word-index.ts';

/** Time for which one transaction may hold up everything else, in ms. */
const CHUNK_MS = 10;
/** So many are written in any case: on a busy machine time passes without work, and each transaction costs a sync. */
const CHUNK_PARTS = 300;

/** A kept record of another log, whose text goes over as it is. */
export interface CopiedRecord {
  /** Whole: long values are in it. */
  readonly stored: StoredEvent;
  readonly text: string;
  readonly refs: readonly BlobRef[];
}

/** What stands for records of another log that were removed, at the last of them and with its link. */
export interface CopiedGap {
  readonly gap: Gap;
  readonly seq: Seq;
  readonly link: Link;
}

export type LogRecord = CopiedRecord | CopiedGap;

export interface CopyTarget extends Source {
  readonly tenant: string;
  readonly id: ThreadId;
}

export class LogCopy {
  readonly #target: CopyTarget;
  readonly #tables: TableReader;
  /** Turns without an end so far. */
  readonly open = new Map<TurnId, TurnSpan>();
  /** Questions outside of turns without an end so far. */
  readonly #asides = new Map<ApprovalId, Change>();
  #seq: Seq = 0;
  #link: Link;
  /** Where records may be missing. */
  #floor: Seq = 0;
  /** The row of the thread as of the last record. */
  meta: ThreadMeta;

  private constructor(target: CopyTarget, meta: ThreadMeta) {
    this.#target = target;
    this.meta = meta;
    this.#link = firstLink(target.id);
    const stored = tableReader(target.rows, target.keys, target.id);
    this.#tables = { ...stored, turn: (turnId) => this.open.get(turnId) ?? stored.turn(turnId) };
  }

  /** Takes the id; what is written below it is cleared away at the next opening unless `finish` is reached. */
  static async begin(target: CopyTarget, meta: ThreadMeta): Promise<LogCopy> {
    const { rows, keys, tenant, id } = target;
    await rows.write(() => {
      if (rows.get(keys.head(id)) !== undefined || rows.get(removalKey(tenant, id)) !== undefined)
        throw new AppError('conflict', `there is a thread with the id ${id}`, { kind: 'exists', threadId: id });
      rows.put(removalKey(tenant, id), JSON.stringify({ tenant, id }));
    });
    return new LogCopy(target, meta);
  }

  get seq(): Seq {
    return this.#seq;
  }

  /** Records in their order, with all that follows from them. */
  add(records: readonly LogRecord[], check: () => void = () => {}): Promise<void> {
    return this.#inChunks(records.length, check, (index) => {
      const record = records[index] as LogRecord;
      if (!('gap' in record)) return this.#write(record);
      this.gap(record)();
      for (const place of record.gap.places) for (const change of derivePlace(place, this.#tables)) this.#apply(change);
    });
  }

  /** The chain goes on behind it with the link that it has. Gives what puts it down, inside a transaction. */
  gap({ gap, seq, link }: CopiedGap): () => void {
    const { rows, keys, id } = this.#target;
    const text = sealedGap(link, { ...gap, previous: this.#link });
    this.#link = link;
    this.#seq = seq;
    this.#floor = seq;
    return () => rows.put(keys.log(id, seq), text);
  }

  /** Makes a record of another log, as bytes, one of this. `passed` has to follow before anything else is added. */
  carry(batch: Batch, index: number): void {
    this.#link = sealAnew(batch.text(index), this.#link);
    batch.changed(index);
  }

  /** The number of the last record that was carried. */
  passed(seq: Seq): void {
    this.#seq = seq;
  }

  /** Inside a transaction. */
  useBlobs(refs: readonly BlobRef[]): void {
    useBlobs(this.#target, this.#target.id, refs);
  }

  /** The last transaction: `last` follows, the thread is there, and `record` runs with it. Gives the head. */
  async finish(last: readonly EventToStore[], record: () => void): Promise<Seq> {
    const { rows, keys, tenant, id } = this.#target;
    const prepared = prepare(this.#seq, last);
    return rows.write(() => {
      record();
      for (const { stored, encoded } of prepared) this.#write({ stored, text: encoded.text, refs: encoded.refs });
      for (const row of this.open.values()) {
        rows.put(keys.turn(id, row.seq), encodeRow(row).text);
        rows.put(keys.openTurn(id, row.id), JSON.stringify({ threadId: id, turnId: row.id, seq: row.seq }));
      }
      for (const aside of this.#asides.values()) applyChange(rows, keys, id, aside);
      rows.put(keys.head(id), JSON.stringify({ seq: this.#seq, link: this.#link }));
      if (this.#floor > 0) rows.put(keys.floor(id), JSON.stringify({ seq: this.#floor, done: this.#floor }));
      rows.put(keys.meta(id), encodeRow(this.meta).text);
      moveListed(rows, keys, undefined, this.meta);
      noteMessages(rows, keys, id, this.#seq);
      rows.remove(removalKey(tenant, id));
      return this.#seq;
    });
  }

  /** Clears away what was written. */
  async abandon(): Promise<void> {
    await removeRows(this.#target);
  }

  /** Several transactions if need be, so that none holds others up for long. `check` runs inside each and may throw. */
  async #inChunks(count: number, check: () => void, write: (index: number) => void): Promise<void> {
    let done = 0;
    while (done < count) {
      done = await this.#target.rows.writePart(() => {
        check();
        const end = systemClock.elapsed() + CHUNK_MS;
        let index = done;
        do {
          write(index);
          index += 1;
        } while (index < count && (index - done < CHUNK_PARTS || systemClock.elapsed() < end));
        return index;
      });
    }
  }

  #write({ stored, text, refs }: CopiedRecord): void {
    const { rows, keys, id } = this.#target;
    this.#link = nextLink(this.#link, text);
    this.#seq = stored.seq;
    rows.put(keys.log(id, stored.seq), sealed(this.#link, text));
    const derived = derive(this.meta, stored, this.#tables);
    this.meta = derived.meta;
    for (const change of derived.changes) this.#apply(change);
    this.useBlobs(refs);
  }

  /** Open turns and questions are kept here until the end: outside, nobody may find them yet. */
  #apply(change: Change): void {
    const { rows, keys, id } = this.#target;
    if (change.change === 'asideOpened') return void this.#asides.set(change.approvalId, change);
    if (change.change === 'asideClosed') return void this.#asides.delete(change.approvalId);
    if (change.change === 'turn' && this.open.has(change.row.id)) {
      if (change.row.endSeq === undefined) {
        this.open.set(change.row.id, change.row);
        if (change.row.seq < this.#seq) return;
      } else this.open.delete(change.row.id);
    }
    if (change.change === 'turnReverted') this.open.delete(change.row.id);
    if (change.change !== 'turnOpened') {
      applyChange(rows, keys, id, change);
      return;
    }
    rows.put(keys.turnSeq(id, change.turnId), String(change.seq));
    const row = this.#tables.turn(change.turnId);
    if (row !== undefined) this.open.set(change.turnId, row);
  }
}
