// The ThreadStore over rows: each mutation is one transaction over log, tables, key and reply.

import { AppError } from '../base/errors.ts';
import type { StoredEvent } from '../model/event.ts';
import type { ItemId, Seq, ThreadId, TurnId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { openAttachments } from './attachments.ts';
import { listThreads } from './catalogue.ts';
import { DamagedRow, spared } from './checksum.ts';
import { forkThread } from './fork.ts';
import { floorOf } from './gaps.ts';
import { keptEvents } from './kept-records.ts';
import { below, removalKey } from './keys.ts';
import { type LedgerRows, openLedger } from './ledger.ts';
import { existing, LogWriter, prepare } from './log-writer.ts';
import { findOccurrences } from './occurrences.ts';
import { readItem, readItems, readTurn, readTurns } from './pages.ts';
import { readContext, readEvents, type Source } from './reader.ts';
import { rebuildThread } from './rebuild.ts';
import { relist } from './relist.ts';
import { hideThread, removeRows } from './removal.ts';
import { breathe } from './rows.ts';
import { openSections } from './sections.ts';
import type {
  Attachments,
  EventToStore,
  ItemQuery,
  OccurrenceQuery,
  Once,
  OpenTurn,
  SearchPage,
  SearchQuery,
  Sections,
  ThreadPage,
  ThreadQuery,
  ThreadStore,
  TurnQuery,
} from './store.ts';
import { Upkeep } from './upkeep.ts';
import { searchThreads } from './word-search.ts';

/** Threads of one page whose rows are made anew before it is given. */
const MENDED_AT_ONCE = 32;

/** What is done to all tables meanwhile. */
interface WorkOnTables {
  /** They are made anew from the logs. */
  readonly isRebuilding: () => boolean;
  /** Threads are entered that an older version did not list. */
  readonly isRelisting: () => boolean;
}
const NO_WORK: WorkOnTables = { isRebuilding: () => false, isRelisting: () => false };

export class RowThreadStore implements ThreadStore {
  readonly shut: string | undefined;
  readonly ledger: LedgerRows;
  readonly sections: Sections;
  readonly attachments: Attachments;
  readonly #source: Source;
  readonly #tenant: string;
  readonly #log: LogWriter;
  readonly #now: () => number;
  readonly upkeep: Upkeep;
  readonly #rebuilding = new Map<ThreadId, Promise<void>>();
  readonly #work: WorkOnTables;

  /** The rows stay the opener's to close. */
  constructor(source: Source, tenant: string, now: () => number, work: WorkOnTables = NO_WORK) {
    this.#work = work;
    this.#source = source;
    this.shut = source.rows.shut;
    this.#tenant = tenant;
    this.#log = new LogWriter(source);
    this.#now = now;
    this.upkeep = new Upkeep(source, (id) => this.#log.peek(id));
    this.ledger = openLedger(source.rows, source.keys, now);
    this.sections = openSections(source, (once) => this.ledger.record(once, null));
    const attachments = openAttachments(source, (id) => this.#log.peek(id));
    this.attachments = {
      ...attachments,
      find: (id, type, key) => this.#mended(id, () => attachments.find(id, type, key)),
    };
  }

  async create(meta: ThreadMeta, first: readonly EventToStore[], once?: Once): Promise<Seq> {
    const { rows, keys } = this.#source;
    const { id } = meta;
    const created: EventToStore = { atMs: meta.createdAtMs, event: { type: 'threadCreated', meta } };
    const records = prepare(0, [created, ...first]);
    this.upkeep.writing();
    return this.#log.commit(records, () => {
      if (once) this.ledger.record(once, id);
      if (rows.get(keys.head(id)) !== undefined || rows.get(removalKey(this.#tenant, id)) !== undefined)
        throw new AppError('conflict', `there is a thread with the id ${id}`, { kind: 'exists', threadId: id });
      return this.#log.write(id, undefined, meta, records);
    });
  }

  async append(id: ThreadId, expected: Seq, events: readonly EventToStore[], once?: Once): Promise<Seq> {
    const records = prepare(expected, events);
    this.upkeep.writing();
    const head = await this.#mended(id, () =>
      this.#log.commit(records, () => {
        const state = existing(this.#log, id);
        if (once) this.ledger.record(once, id);
        if (state.head.seq !== expected) throw moved(id, expected, state.head.seq);
        return this.#log.write(id, state, state.meta, records);
      }),
    );
    this.upkeep.written(events);
    return head;
  }

  async fork(source: ThreadId, at: Seq, meta: ThreadMeta, once?: Once): Promise<Seq> {
    const { id } = meta;
    const head = (await this.#mended(source, async () => existing(this.#log, source))).head.seq;
    if (at > head)
      throw new AppError('invalid', `thread ${source} ends at ${head}, before ${at}`, { threadId: source });
    const record = () => once && this.ledger.record(once, id);
    const target = { ...this.#source, tenant: this.#tenant, id };
    const forked = await forkThread(target, { source, at, meta, now: this.#now, record });
    // It may be long.
    setImmediate(() => void this.upkeep.worded());
    return forked;
  }

  async remove(id: ThreadId, once?: Once): Promise<void> {
    const removal = { ...this.#source, tenant: this.#tenant, id };
    await this.#mended(id, () =>
      this.#source.rows.write(() => {
        if (once) this.ledger.record(once, null);
        hideThread(removal, existing(this.#log, id).meta);
      }),
    );
    this.#log.forget(id);
    await removeRows(removal);
  }

  async head(id: ThreadId): Promise<Seq | undefined> {
    return this.#mended(id, async () => this.#log.load(id)?.head.seq);
  }

  async meta(id: ThreadId): Promise<ThreadMeta | undefined> {
    return this.#mended(id, async () => this.#log.peek(id));
  }

  events(id: ThreadId, after: Seq, limit: number): Promise<readonly StoredEvent[]> {
    return readEvents(this.#source, id, after, limit);
  }

  async oldest(id: ThreadId): Promise<Seq> {
    return floorOf(this.#source.rows, this.#source.keys, id).seq;
  }

  kept(id: ThreadId, through: Seq): AsyncIterable<StoredEvent> {
    return keptEvents(this.#source, id, through);
  }

  async threads(query: ThreadQuery): Promise<ThreadPage> {
    const broken = new Set<ThreadId>();
    const { rows, keys } = this.#source;
    const metaOf = (id: ThreadId) => {
      try {
        return this.#log.peek(id);
      } catch (error) {
        if (!(error instanceof DamagedRow)) throw error;
        broken.add(id);
        return undefined;
      }
    };
    const list = () => listThreads(rows, keys, query, metaOf, (id) => this.sections.find(id) !== undefined);
    const page = await list();
    const isBeyondMending = broken.size > (this.shut === undefined ? MENDED_AT_ONCE : 0);
    const isPartial = isBeyondMending || this.#work.isRebuilding() || this.#work.isRelisting();
    if (broken.size === 0 || isPartial) return isPartial ? { ...page, isPartial } : page;
    await Promise.all([...broken].map((id) => this.rebuild(id)));
    return list();
  }

  turns(id: ThreadId, query: TurnQuery) {
    return this.#mended(id, () => readTurns(this.#source, id, query));
  }

  turn(id: ThreadId, turnId: TurnId) {
    return this.#mended(id, () => readTurn(this.#source, id, turnId));
  }

  items(id: ThreadId, query: ItemQuery) {
    return this.#mended(id, () => readItems(this.#source, id, query));
  }

  item(id: ThreadId, itemId: ItemId) {
    return this.#mended(id, () => readItem(this.#source, id, itemId));
  }

  context(id: ThreadId) {
    return readContext(this.#source, id);
  }

  async search(query: SearchQuery): Promise<SearchPage> {
    this.#source.rows.pace.noteOthers();
    void this.upkeep.worded();
    await breathe();
    return searchThreads(this.#source, query, (id) => spared(() => this.#log.peek(id)));
  }

  occurrences(id: ThreadId, query: OccurrenceQuery) {
    this.#source.rows.pace.noteOthers();
    return this.#mended(id, () => findOccurrences(this.#source, id, query));
  }

  async openTurns(): Promise<readonly OpenTurn[]> {
    const { rows, keys } = this.#source;
    const read = () => rows.scan({ ...below(keys.openTurns()), limit: Number.POSITIVE_INFINITY });
    for (const { key } of read().filter((row) => row.isDamaged)) await this.rebuild(key[2] as ThreadId);
    return read().flatMap(({ text, isDamaged }) => (isDamaged ? [] : [JSON.parse(text) as OpenTurn]));
  }

  /** The thread's tables anew from its log; what is asked of it meanwhile is one and the same work. */
  rebuild(id: ThreadId): Promise<void> {
    const running = this.#rebuilding.get(id);
    if (running !== undefined) return running;
    const work = this.#anew(id).then(() => {
      this.#rebuilding.delete(id);
      this.#log.forget(id);
      void this.upkeep.swept();
    });
    this.#rebuilding.set(id, work);
    work.catch(() => this.#rebuilding.delete(id));
    return work;
  }

  /** Enters the threads that an older version did not list; false: aborted before the end. */
  relist(signal: AbortSignal): Promise<boolean> {
    return relist(this.#source, this.#tenant, (id) => this.#log.forget(id), signal);
  }

  async #anew(id: ThreadId): Promise<void> {
    if (this.shut !== undefined)
      throw new AppError(
        'unavailable',
        `what is known of thread ${id} is damaged and cannot be made anew: ${this.shut}`,
      );
    // One that is being removed, or is not whole yet, is not there.
    if (this.#source.rows.get(removalKey(this.#tenant, id)) === undefined) await rebuildThread(this.#source, id);
  }

  /** What meets a damaged row of a table is done again when the tables have been made anew. */
  async #mended<T>(id: ThreadId, work: () => Promise<T>): Promise<T> {
    const { rows, keys } = this.#source;
    // While all tables are made anew, a thread may be there of which only the log knows.
    if (this.#work.isRebuilding() && spared(() => rows.get(keys.head(id))) === undefined) await this.rebuild(id);
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DamagedRow)) throw error;
    }
    await this.rebuild(id);
    return work();
  }

  async close(): Promise<void> {
    await this.upkeep.close();
    await Promise.allSettled(this.#rebuilding.values());
  }
}

function moved(id: ThreadId, expected: Seq, head: Seq): AppError {
  return new AppError('conflict', `thread ${id} is at ${head}, not at ${expected}`, {
    kind: 'head_moved',
    threadId: id,
    expected,
    head,
  });
}
