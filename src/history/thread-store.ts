// The ThreadStore over rows: each mutation is one transaction over log, tables, key and reply.

import { closeOnce } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import type { StoredEvent } from '../model/event.ts';
import { span } from '../model/event.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { listThreads, moveListed } from './catalogue.ts';
import { firstLink, type Head, nextLink, sealed } from './chain.ts';
import { below, removalKey } from './keys.ts';
import { openLedger } from './ledger.ts';
import {
  readContext,
  readEvents,
  readItem,
  readItems,
  readTurn,
  readTurns,
  reviveSync,
  type Source,
} from './reader.ts';
import { decode, type Encoded, encode, encodeRow } from './records.ts';
import { type Removal, removeRows } from './removal.ts';
import type { EventToStore, OpenTurn, ThreadStore } from './store.ts';
import { applyChange, tableReader } from './table-rows.ts';
import { derive } from './tables.ts';

/** What appends to a thread need; exactly what is stored if `headText` is what the head's row says. */
interface State {
  readonly headText: string;
  readonly head: Head;
  readonly meta: ThreadMeta;
}

interface Prepared {
  readonly stored: StoredEvent;
  readonly encoded: Encoded;
}

/** Threads whose state is kept in memory. */
const CACHED_THREADS = 256;

export function openThreadStore(source: Source, tenant: string, now: () => number): ThreadStore {
  const { rows, keys } = source;
  const ledger = openLedger(rows, keys, now);
  const cache = new Map<ThreadId, State>();

  const remember = (id: ThreadId, state: State) => {
    cache.delete(id);
    cache.set(id, state);
    if (cache.size > CACHED_THREADS) cache.delete(cache.keys().next().value as ThreadId);
  };
  const load = (id: ThreadId): State | undefined => {
    const headText = rows.get(keys.head(id));
    if (headText === undefined) return undefined;
    const cached = cache.get(id);
    if (cached?.headText === headText) return cached;
    const text = rows.get(keys.meta(id)) as string;
    const meta = reviveSync(source, id, decode<ThreadMeta>(text));
    const state = { headText, head: JSON.parse(headText) as Head, meta };
    remember(id, state);
    return state;
  };

  /** Inside a transaction: the records behind `state`, and everything that follows from them. */
  const write = (id: ThreadId, before: State | undefined, start: ThreadMeta, records: readonly Prepared[]): Seq => {
    const tables = tableReader(rows, keys, id);
    let { seq, link } = before?.head ?? { seq: 0, link: firstLink(id) };
    let meta = start;
    for (const { stored, encoded } of records) {
      const { event } = stored;
      if (event.type === 'delta') rows.put(keys.delta(id, stored.seq, event.turnId), encoded.text);
      else {
        link = nextLink(link, encoded.text);
        rows.put(keys.log(id, stored.seq), sealed(link, encoded.text));
        const derived = derive(meta, stored, tables);
        meta = derived.meta;
        for (const change of derived.changes) applyChange(rows, keys, id, change);
      }
      for (const { hash } of encoded.refs) {
        rows.put(keys.blobUse(id, hash), hash);
        rows.put(keys.blobOwner(hash, id), id);
      }
      seq = stored.seq + span(event) - 1;
    }
    const head = { seq, link };
    const headText = JSON.stringify(head);
    rows.put(keys.head(id), headText);
    if (meta !== before?.meta) {
      rows.put(keys.meta(id), encodeRow(meta).text);
      moveListed(rows, keys, before?.meta, meta);
    }
    // If the commit fails the head's row will not have this text, and the entry is passed over.
    remember(id, { headText, head, meta });
    return seq;
  };

  /** Long values first, then the transaction. */
  const commit = async <T>(records: readonly Prepared[], work: () => T): Promise<T> => {
    const long = records.filter(({ encoded }) => encoded.contents.size > 0);
    if (long.length === 0) return rows.write(work);
    const contents = new Map(long.flatMap(({ encoded }) => [...encoded.contents]));
    await source.blobs.write(contents);
    try {
      return await rows.write(work);
    } finally {
      source.blobs.settle(contents);
    }
  };

  const existing = (id: ThreadId): State => {
    const state = load(id);
    if (state === undefined) throw new AppError('notFound', `thread not found: ${id}`, { threadId: id });
    return state;
  };
  const removal = (id: ThreadId): Removal => ({ ...source, tenant, id });

  return {
    async create(meta, first, once) {
      const { id } = meta;
      const created: EventToStore = { atMs: meta.createdAtMs, event: { type: 'threadCreated', meta } };
      const records = prepare(0, [created, ...first]);
      return commit(records, () => {
        if (rows.get(keys.head(id)) !== undefined || rows.get(removalKey(tenant, id)) !== undefined)
          throw new AppError('conflict', `there is a thread with the id ${id}`, { kind: 'exists', threadId: id });
        if (once) ledger.record(once, id);
        return write(id, undefined, meta, records);
      });
    },
    async append(id, expected, events, once) {
      const records = prepare(expected, events);
      return commit(records, () => {
        const state = existing(id);
        if (once) ledger.record(once, id);
        if (state.head.seq !== expected) throw moved(id, expected, state.head.seq);
        return write(id, state, state.meta, records);
      });
    },
    async remove(id, once) {
      await rows.write(() => {
        if (once) ledger.record(once, null);
        const { meta } = existing(id);
        hide(source, tenant, meta);
      });
      cache.delete(id);
      await removeRows(removal(id));
    },
    events: (id, after, limit) => readEvents(source, id, after, limit),
    head: async (id) => load(id)?.head.seq,
    meta: async (id) => load(id)?.meta,
    threads: (query) => listThreads(rows, keys, query, (id) => load(id)?.meta),
    turns: (id, query) => readTurns(source, id, query),
    turn: (id, turnId) => readTurn(source, id, turnId),
    items: (id, query) => readItems(source, id, query),
    item: (id, itemId) => readItem(source, id, itemId),
    context: (id) => readContext(source, id),
    openTurns: async () =>
      rows.scan({ ...below(keys.openTurns()), limit: Infinity }).map(({ text }) => JSON.parse(text) as OpenTurn),
    ledger,
    close: closeOnce(async () => {
      cache.clear();
    }),
  };
}

/** Numbers and encodes events that follow `expected`, outside of the transaction. */
function prepare(expected: Seq, events: readonly EventToStore[]): Prepared[] {
  let seq = expected + 1;
  // A delta without parts takes no number, so it has no place.
  return events
    .filter(({ event }) => span(event) > 0)
    .map(({ atMs, event }) => {
      const stored = { seq, atMs, event };
      seq += span(event);
      // Deltas are outside the chain and go with their turn: no canonical form, nothing taken out.
      const encoded =
        event.type === 'delta' ? { text: JSON.stringify(stored), refs: [], contents: new Map() } : encode(stored);
      return { stored, encoded };
    });
}

/** Inside a transaction: from now on there is no such thread, whatever is left of its rows. */
function hide({ rows, keys }: Source, tenant: string, meta: ThreadMeta): void {
  const { id } = meta;
  rows.put(removalKey(tenant, id), JSON.stringify({ tenant, id }));
  moveListed(rows, keys, meta, undefined);
  rows.remove(keys.meta(id));
  rows.remove(keys.head(id));
  for (const { key } of rows.scan({ ...below(keys.openTurnsOf(id)), limit: Infinity })) rows.remove(key);
}

function moved(id: ThreadId, expected: Seq, head: Seq): AppError {
  return new AppError('conflict', `thread ${id} is at ${head}, not at ${expected}`, {
    kind: 'head_moved',
    threadId: id,
    expected,
    head,
  });
}
