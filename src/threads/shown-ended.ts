// A history that takes no writes, shown as if what the stop of a server cut off had been ended: nothing runs, and nothing is stored.

import type { History, ItemRow, ThreadStore, TurnRow } from '../history/store.ts';
import type { EventOf, StoredEvent, ThreadEvent } from '../model/event.ts';
import type { ItemId, Seq, ThreadId } from '../model/ids.ts';
import type { Item } from '../model/item.ts';
import { loadThread } from './loading.ts';
import { terminalEndings } from './terminals.ts';
import { endingEvents } from './turn-ending.ts';

/** The same history where it takes writes: there the ends are stored. */
export function shownEnded(history: History): History {
  if (history.shut === undefined) return history;
  const stores = new Map<string, ThreadStore>();
  return {
    ...history,
    forTenant(tenant) {
      const store = stores.get(tenant) ?? endedStore(history.forTenant(tenant));
      stores.set(tenant, store);
      return store;
    },
  };
}

/** What would be stored of a thread that is loaded anew. */
interface Ends {
  readonly head: Seq;
  readonly atMs: number;
  readonly events: readonly ThreadEvent[];
  readonly items: ReadonlyMap<ItemId, Item>;
  readonly turn: EventOf<'turnCompleted'> | undefined;
}

/** Questions that stand wait as well: they can be answered once the history takes writes. */
async function endsOf(store: ThreadStore, id: ThreadId): Promise<Ends | undefined> {
  const loaded = await loadThread(store, id);
  if (!loaded) return undefined;
  const { thread, texts } = loaded;
  const { meta, head, turn } = thread;
  const atMs = meta.updatedAtMs;
  const events = await terminalEndings(store, meta, head, atMs);
  if (turn) {
    const context = await store.context(id);
    events.push(
      ...endingEvents(thread, turn, { end: { status: 'interrupted' }, atMs, texts, isRecovered: true, context }),
    );
  }
  const items = events.flatMap((event) =>
    event.type === 'itemCompleted' ? [[event.item.id, event.item] as const] : [],
  );
  const end = events.find((event) => event.type === 'turnCompleted');
  return { head, atMs, events, items: new Map(items), turn: end };
}

function endedStore(store: ThreadStore): ThreadStore {
  const known = new Map<ThreadId, Promise<Ends | undefined>>();
  const ends = (id: ThreadId) => {
    const found = known.get(id) ?? endsOf(store, id);
    known.set(id, found);
    found.catch(() => known.delete(id));
    return found;
  };
  const turnOf = async (id: ThreadId, row: TurnRow): Promise<TurnRow> => {
    const end = row.status === 'inProgress' ? (await ends(id))?.turn : undefined;
    return end?.turnId === row.id ? { ...row, status: end.status, lastMessageId: end.lastMessageId } : row;
  };
  const itemOf = async (id: ThreadId, row: ItemRow): Promise<ItemRow> => {
    const item = row.item.completedAtMs === null ? (await ends(id))?.items.get(row.item.id) : undefined;
    return item ? { ...row, item } : row;
  };
  return {
    ...unchanged(store),
    async meta(id) {
      const meta = await store.meta(id);
      return meta && { ...meta, terminals: [], asides: [] };
    },
    openTurns: async () => [],
    async turns(id, query) {
      const page = await store.turns(id, query);
      return { ...page, rows: await Promise.all(page.rows.map((row) => turnOf(id, row))) };
    },
    async turn(id, turnId) {
      const row = await store.turn(id, turnId);
      return row && turnOf(id, row);
    },
    async items(id, query) {
      const page = await store.items(id, query);
      return { ...page, rows: await Promise.all(page.rows.map((row) => itemOf(id, row))) };
    },
    async item(id, itemId) {
      const row = await store.item(id, itemId);
      return row && itemOf(id, row);
    },
    /** For a copy in memory, which is to be as whole as it is shown. */
    async *kept(id, through) {
      yield* store.kept(id, through);
      const found = await ends(id);
      if (found && found.head <= through) yield* placed(found);
    },
  };
}

function* placed({ head, atMs, events }: Ends): Generator<StoredEvent> {
  for (const [index, event] of events.entries()) yield { seq: head + 1 + index, atMs, event };
}

function unchanged(store: ThreadStore): ThreadStore {
  return {
    shut: store.shut,
    ledger: store.ledger,
    sections: store.sections,
    attachments: store.attachments,
    create: (...args) => store.create(...args),
    append: (...args) => store.append(...args),
    fork: (...args) => store.fork(...args),
    remove: (...args) => store.remove(...args),
    events: (...args) => store.events(...args),
    oldest: (...args) => store.oldest(...args),
    kept: (...args) => store.kept(...args),
    head: (...args) => store.head(...args),
    meta: (...args) => store.meta(...args),
    threads: (...args) => store.threads(...args),
    turns: (...args) => store.turns(...args),
    turn: (...args) => store.turn(...args),
    items: (...args) => store.items(...args),
    item: (...args) => store.item(...args),
    context: (...args) => store.context(...args),
    search: (...args) => store.search(...args),
    occurrences: (...args) => store.occurrences(...args),
    openTurns: () => store.openTurns(),
    close: () => store.close(),
  };
}
