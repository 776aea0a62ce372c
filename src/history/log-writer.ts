// Writing to the log of a thread: numbered, chained records, and everything that follows from them.

import { type StoredEvent, span } from '../model/event.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import { noSuchThread } from '../model/missing.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { useBlobs } from './blob-uses.ts';
import { moveListed } from './catalogue.ts';
import { wholeMeta } from './catalogue-row.ts';
import { firstLink, type Head, nextLink, sealed } from './chain.ts';
import { DamagedRow } from './checksum.ts';
import { reviveSync, type Source } from './reader.ts';
import { decode, type Encoded, encode, encodeRow, whole } from './records.ts';
import type { EventToStore } from './store.ts';
import { TableDraft } from './table-draft.ts';
import { derive } from './tables.ts';

/** What appends to a thread need; exactly what is stored if `headText` is what the head's row says. */
export interface ThreadState {
  readonly headText: string;
  readonly head: Head;
  readonly meta: ThreadMeta;
}

/** An event in its place, as it will be stored. */
export interface Prepared {
  readonly stored: StoredEvent;
  readonly encoded: Encoded;
}

/** Threads whose state is kept in memory, and as many of those used before them. */
const RECENT_THREADS = 128;

/** Numbers and encodes events that follow `expected`; done before the transaction, to keep that short. */
export function prepare(expected: Seq, events: readonly EventToStore[]): Prepared[] {
  let seq = expected + 1;
  // A delta without parts takes no number, so it has no place.
  const placed = events.filter(({ event }) => span(event) > 0);
  return placed.map(({ atMs, event }) => {
    const stored = { seq, atMs, event };
    seq += span(event);
    // Deltas are outside the chain and go with their turn: no canonical form, nothing taken out.
    const encoded = event.type === 'delta' ? whole(JSON.stringify(stored)) : encode(stored);
    return { stored, encoded };
  });
}

export class LogWriter {
  readonly #source: Source;
  #recent = new Map<ThreadId, ThreadState>();
  #older = new Map<ThreadId, ThreadState>();

  constructor(source: Source) {
    this.#source = source;
  }

  /** The thread's state, kept for its next append. */
  load(id: ThreadId): ThreadState | undefined {
    const { rows, keys } = this.#source;
    const headText = rows.get(keys.head(id));
    if (headText === undefined) return undefined;
    const recent = this.#known(id);
    const state =
      recent?.headText === headText
        ? recent
        : { headText, head: JSON.parse(headText) as Head, meta: this.#readMeta(id) };
    this.#remember(id, state);
    return state;
  }

  /** The catalogue's row, without taking the place of threads that are written to. */
  peek(id: ThreadId): ThreadMeta | undefined {
    const { rows, keys } = this.#source;
    const headText = rows.get(keys.head(id));
    if (headText === undefined) return undefined;
    const recent = this.#known(id);
    return recent?.headText === headText ? recent.meta : this.#readMeta(id);
  }

  /** Inside a transaction: the records behind `before`, or at the beginning of a log whose row starts as `start`. */
  write(id: ThreadId, before: ThreadState | undefined, start: ThreadMeta, records: readonly Prepared[]): Seq {
    const { rows, keys } = this.#source;
    let tables: TableDraft | undefined;
    let { seq, link } = before?.head ?? { seq: 0, link: firstLink(id) };
    let meta = start;
    for (const { stored, encoded } of records) {
      const { event } = stored;
      if (event.type === 'delta') rows.put(keys.delta(id, stored.seq, event.turnId), encoded.text);
      else {
        link = nextLink(link, encoded.text);
        rows.put(keys.log(id, stored.seq), sealed(link, encoded.text));
        tables ??= new TableDraft(rows, keys, id);
        const derived = derive(meta, stored, tables);
        meta = derived.meta;
        for (const change of derived.changes) tables.apply(change);
        useBlobs(this.#source, id, encoded.refs);
      }
      seq = stored.seq + span(event) - 1;
    }
    tables?.write();
    const head = { seq, link };
    const headText = JSON.stringify(head);
    rows.put(keys.head(id), headText);
    if (meta !== before?.meta) {
      rows.put(keys.meta(id), encodeRow(meta).text);
      moveListed(rows, keys, before?.meta, meta);
    }
    // Should the commit fail, the head's row will not have this text, and the entry is passed over.
    this.#remember(id, { headText, head, meta });
    return seq;
  }

  /** One transaction, after the long values that its records name are on disk. */
  async commit<T>(records: readonly Prepared[], work: () => T): Promise<T> {
    const { rows, blobs } = this.#source;
    const long = records.filter(({ encoded }) => encoded.contents.size > 0);
    if (long.length === 0) return rows.write(work);
    const contents = new Map(long.flatMap(({ encoded }) => [...encoded.contents]));
    await blobs.write(contents);
    try {
      return await rows.write(work);
    } finally {
      blobs.settle(contents);
    }
  }

  forget(id: ThreadId): void {
    this.#recent.delete(id);
    this.#older.delete(id);
  }

  /** Throws `DamagedRow` also when a thread has no row. */
  #readMeta(id: ThreadId): ThreadMeta {
    const { rows, keys } = this.#source;
    const text = rows.get(keys.meta(id));
    if (text === undefined) throw new DamagedRow(keys.meta(id));
    return wholeMeta(reviveSync(this.#source, id, decode<ThreadMeta>(text)));
  }

  #known(id: ThreadId): ThreadState | undefined {
    return this.#recent.get(id) ?? this.#older.get(id);
  }

  /**
   * In its place: a map from which each commit takes an entry to put it at the end gets a new table every few commits, and the
   * tables that were keep each other and all that lay in them until a full collection.
   */
  #remember(id: ThreadId, state: ThreadState): void {
    this.#recent.set(id, state);
    if (this.#recent.size <= RECENT_THREADS) return;
    this.#older = this.#recent;
    this.#recent = new Map();
  }
}

/** The thread's state; throws *notFound* when there is none. */
export function existing(log: LogWriter, id: ThreadId): ThreadState {
  const state = log.load(id);
  if (state === undefined) throw noSuchThread(id);
  return state;
}
