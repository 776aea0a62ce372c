// The tables of a thread anew from its log, while others go on reading and appending.

import { systemClock } from '../base/clock.ts';
import type { EventOf, StoredEvent } from '../model/event.ts';
import { lastSeq } from '../model/event.ts';
import type { ItemId, Seq, ThreadId, TurnId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { useBlobs } from './blob-uses.ts';
import { moveListed } from './catalogue.ts';
import { wholeMeta } from './catalogue-row.ts';
import { firstLink, type Head, linkOf } from './chain.ts';
import { spared } from './checksum.ts';
import { floorOf } from './gaps.ts';
import { keptRecords } from './kept-records.ts';
import { ENDLESS, type Key } from './keys.ts';
import { clearDamaged, clearLeftovers } from './leftovers.ts';
import type { CopiedRecord, LogRecord } from './log-copy.ts';
import { reviveSync, type Source } from './reader.ts';
import { decode, encodeRow } from './records.ts';
import { applyChange, tableReader } from './table-rows.ts';
import { type Change, derive, derivePlace, type TableReader } from './tables.ts';

/** Time for which one transaction may hold up everything else, in ms. */
const CHUNK_MS = 10;

/**
 * Resolves when turns, items, context, catalogue row and head of the thread say what its log says. What it finds damaged or
 * missing it replaces; a damaged record of the log counts for nothing. False: there is no log of such a thread.
 */
export async function rebuildThread(source: Source, id: ThreadId): Promise<boolean> {
  const { rows } = source;
  const work = new Rebuild(source, id);
  let isClear = false;
  for (;;) {
    let any = false;
    for await (const records of keptRecords(source, id, work.done + 1, ENDLESS)) {
      any = any || records.length > 0;
      await work.take(records);
    }
    if (work.meta === undefined) return false;
    // What was appended meanwhile is read first; the last transaction finds nothing new.
    if (!isClear) await clearLeftovers(source, id);
    isClear = true;
    if (!any && (await rows.write(() => work.finish()))) return true;
  }
}

type ItemEvent = EventOf<'itemStarted'> | EventOf<'itemCompleted'>;

class Rebuild {
  readonly #source: Source;
  readonly #id: ThreadId;
  readonly #tables: TableReader;
  readonly #open = new Map<TurnId, Seq>();
  readonly #reverted = new Set<TurnId>();
  /** Items of which the end has not been met. */
  readonly #begun = new Set<ItemId>();
  /** For a log whose first record is lost. */
  readonly #fallback: ThreadMeta | undefined;
  meta: ThreadMeta | undefined;
  done: Seq = 0;

  constructor(source: Source, id: ThreadId) {
    this.#source = source;
    this.#id = id;
    const row = spared(() => storedMeta(source, id));
    // What follows from the log is counted anew.
    this.#fallback = row && { ...row, turnCount: 0, preview: '', failed: false, asides: [] };
    const stored = tableReader(source.rows, source.keys, id);
    this.#tables = {
      turn: (turnId) => spared(() => stored.turn(turnId)),
      itemSeq: (itemId) => spared(() => stored.itemSeq(itemId)),
    };
  }

  async take(records: readonly LogRecord[]): Promise<void> {
    let index = 0;
    while (index < records.length) {
      index = await this.#source.rows.write(() => {
        const end = systemClock.elapsed() + CHUNK_MS;
        let next = index;
        do this.#take(records[next++] as LogRecord);
        while (next < records.length && systemClock.elapsed() < end);
        return next;
      });
    }
  }

  /** Inside a transaction. False: the log has grown. */
  finish(): boolean {
    const { rows, keys, log } = this.#source;
    const id = this.#id;
    const meta = this.meta as ThreadMeta;
    const newest = rows.scan({ from: keys.log(id, this.done + 1), to: keys.log(id, ENDLESS), limit: 1 })[0];
    if (newest !== undefined && !newest.isDamaged) return false;
    const before = spared(() => storedMeta(this.#source, id));
    rows.put(keys.meta(id), encodeRow(meta).text);
    moveListed(rows, keys, before, meta);
    if (spared(() => rows.get(keys.head(id))) === undefined) rows.put(keys.head(id), JSON.stringify(this.#head()));
    for (const [turnId, seq] of this.#open)
      rows.put(keys.openTurn(id, turnId), JSON.stringify({ threadId: meta.id, turnId, seq }));
    log.warn({ threadId: id, head: this.done }, 'the tables of a thread were made anew from its log');
    return true;
  }

  #take(record: LogRecord): void {
    if (!('gap' in record)) {
      this.#derive(record);
      return;
    }
    const { seq, gap } = record;
    for (const place of gap.places) {
      this.#makeRoom(place.itemId);
      this.#begun.add(place.itemId);
      this.#apply(derivePlace(place, this.#tables));
    }
    this.done = seq;
    const { rows, keys } = this.#source;
    const floor = floorOf(rows, keys, this.#id);
    if (floor.seq < seq) rows.put(keys.floor(this.#id), JSON.stringify({ seq, done: Math.max(seq, floor.done) }));
  }

  #derive({ stored, refs }: CopiedRecord): void {
    const before = this.meta ?? beginning(stored) ?? this.#fallback;
    if (before === undefined) return;
    this.meta = before;
    const { event } = stored;
    if (event.type === 'itemStarted' || event.type === 'itemCompleted') {
      this.#beginTurn(before, event.turnId, stored);
      this.#beginItem(event, stored);
    }
    if (event.type === 'turnsReverted') for (const turnId of event.turnIds) this.#reverted.add(turnId);
    this.#follow(stored);
    this.done = stored.seq;
    useBlobs(this.#source, before.id, refs);
  }

  #follow(stored: StoredEvent): void {
    const { meta, changes } = derive(this.meta as ThreadMeta, stored, this.#tables);
    this.meta = meta;
    this.#apply(changes);
  }

  #apply(changes: readonly Change[]): void {
    const { rows, keys } = this.#source;
    for (const change of changes) {
      if (change.change === 'turnReverted') clearDamaged(this.#source, this.#id, change.row);
      applyChange(rows, keys, this.#id, change);
      if (change.change === 'turnOpened') this.#open.set(change.turnId, change.seq);
      if (change.change === 'turnClosed' || change.change === 'turnReverted') this.#open.delete(change.row.id);
    }
  }

  /** A turn of which nothing else is left begins with its first item. */
  #beginTurn({ id }: ThreadMeta, turnId: TurnId, { seq, atMs }: StoredEvent): void {
    if (this.#reverted.has(turnId) || this.#tables.turn(turnId) !== undefined) return;
    const { rows, keys } = this.#source;
    const place = Number(spared(() => rows.get(keys.turnSeq(id, turnId))) ?? seq);
    const event = { type: 'turnStarted', turnId, rootTurnId: turnId, startedAtMs: atMs, preview: '' } as const;
    this.#follow({ seq: Math.min(place, seq), atMs, event });
  }

  /** An item keeps its place when the record of its beginning is lost. */
  #beginItem({ type, turnId, item }: ItemEvent, { seq, atMs }: StoredEvent): void {
    if (type === 'itemCompleted' && this.#begun.delete(item.id)) return;
    const place = this.#makeRoom(item.id);
    if (type === 'itemStarted') {
      this.#begun.add(item.id);
      return;
    }
    const turn = this.#tables.turn(turnId);
    if (place === undefined || turn === undefined || place <= turn.seq || place >= seq) return;
    this.#follow({ seq: place, atMs, event: { type: 'itemStarted', turnId, item } });
  }

  /** The place of an item is found anew; gives the one that it had. */
  #makeRoom(itemId: ItemId): Seq | undefined {
    const { rows, keys } = this.#source;
    const place = this.#tables.itemSeq(itemId);
    rows.remove(keys.itemSeq(this.#id, itemId));
    return place;
  }

  #head(): Head {
    const { rows, keys } = this.#source;
    const last = (from: Key, to: Key) => rows.scan({ from, to, reverse: true, limit: 1 })[0];
    const kept = last(keys.log(this.#id, 0), keys.log(this.#id, ENDLESS));
    const delta = last(keys.deltasFrom(this.#id, 0), keys.deltasFrom(this.#id, ENDLESS));
    const link = kept === undefined || kept.isDamaged ? firstLink(this.#id) : linkOf(kept.text);
    const streamed = delta === undefined || delta.isDamaged ? 0 : lastSeq(decode<StoredEvent>(delta.text).value);
    return { seq: Math.max((kept?.key[4] as Seq | undefined) ?? 0, streamed), link };
  }
}

function beginning({ event }: StoredEvent): ThreadMeta | undefined {
  return event.type === 'threadCreated' ? wholeMeta(event.meta) : undefined;
}

function storedMeta(source: Source, id: ThreadId): ThreadMeta | undefined {
  const text = source.rows.get(source.keys.meta(id));
  return text === undefined ? undefined : wholeMeta(reviveSync(source, id, decode<ThreadMeta>(text)));
}
