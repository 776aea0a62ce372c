// The contract of the durable history: logs of events, and tables that are derived from them in the same transaction.

import type { Closable } from '../base/close.ts';
import type { ContextItem } from '../model/context.ts';
import type { StoredEvent, ThreadEvent } from '../model/event.ts';
import type { ItemId, Seq, ThreadId, TurnId } from '../model/ids.ts';
import type { Item } from '../model/item.ts';
import type { Attachment, ThreadMeta, ThreadSection } from '../model/thread.ts';
import type { TurnError, TurnStatus } from '../model/turn.ts';
import type { Snippet } from './matches.ts';

/** A mutation that a client may send again: stored with its reply in the transaction of its effect. */
export interface Once {
  /** The client's key, unique within the tenant and method. */
  readonly key: string;
  /** More keys of the same request: each is stored with the reply, and one that is known refuses the mutation as `key` does. */
  readonly otherKeys?: readonly string[];
  readonly method: string;
  /** Digest of the params: the same key with another digest is drift. Never the params themselves. */
  readonly fingerprint: string;
  /** The whole result as JSON text, at most 64 KiB. */
  readonly reply: string;
}

export interface EventToStore<E extends ThreadEvent = ThreadEvent> {
  /** Epoch milliseconds of acceptance. */
  readonly atMs: number;
  readonly event: E;
}

export type Direction = 'asc' | 'desc';

export interface Page<T> {
  readonly rows: readonly T[];
  /** There are rows after the last one, in the direction of the query. */
  readonly hasMore: boolean;
}

/** Where a page begins: at or behind the row with this key, in the direction of the query. */
export interface From<K> {
  readonly key: K;
  readonly inclusive: boolean;
}

export interface TurnRow {
  readonly id: TurnId;
  /** Of its `turnStarted`: the turn's place among its neighbours. */
  readonly seq: Seq;
  readonly rootTurnId: TurnId;
  readonly status: TurnStatus;
  readonly error: TurnError | null;
  readonly startedAtMs: number;
  readonly completedAtMs: number | null;
  readonly durationMs: number | null;
  readonly firstUserItemId: ItemId | null;
  readonly lastMessageId: ItemId | null;
}

export interface ItemRow {
  /** Of its `itemStarted`: the item's place in the thread. */
  readonly seq: Seq;
  readonly turnId: TurnId;
  readonly item: Item;
}

export interface TurnQuery {
  readonly direction: Direction;
  readonly limit: number;
  readonly from?: From<Seq>;
}

export interface ItemQuery extends TurnQuery {
  /** Only the items of this turn. */
  readonly turnId?: TurnId;
}

export type TimeSortKey = 'createdAt' | 'updatedAt' | 'recencyAt';
export type ThreadSortKey = TimeSortKey | 'sectionPosition';

/** Sort value, then id: the tie-break. */
export interface ThreadPlace {
  /** Epoch milliseconds; within a section its place there. */
  readonly ms: number | string;
  readonly id: ThreadId;
}

export interface ThreadPage extends Page<ThreadMeta> {
  /** The page ended early, perhaps empty, after looking at as many rows as one may: the next page begins behind this place. */
  readonly next?: ThreadPlace;
  /** Threads may be missing: what is known of them is being made anew from their logs. */
  readonly isPartial?: true;
}

export interface ThreadQuery {
  readonly archived: boolean;
  readonly sortKey: ThreadSortKey;
  readonly direction: Direction;
  readonly limit: number;
  readonly from?: From<ThreadPlace>;
  readonly cwds?: readonly string[];
  readonly modelProviders?: readonly string[];
  /** Null: threads in no section. One is needed for the sort key `sectionPosition`. */
  readonly sectionId?: string | null;
  /** Case-insensitive part of the preview, name or title. */
  readonly searchTerm?: string;
  readonly includedIds?: readonly ThreadId[];
  readonly excludedIds?: readonly ThreadId[];
}

/** A turn, or with an empty `turnId` a question outside of any, that had not ended when the store was last written. */
export interface OpenTurn {
  readonly threadId: ThreadId;
  readonly turnId: TurnId;
  readonly seq: Seq;
}

export interface LedgerRecord {
  readonly fingerprint: string;
  /** Absent: claimed, and how the effect ended is not known. */
  readonly reply?: string;
}

/** Keys of mutations: kept as long as their thread, others for seven days. */
export interface Ledger {
  find(method: string, key: string): Promise<LedgerRecord | undefined>;
  /** For effects outside the store: durable before the effect begins. Rejects as `append` does if the key is taken. */
  claim(method: string, key: string, fingerprint: string): Promise<void>;
  seal(method: string, key: string, reply: string): Promise<void>;
  /** Frees a key that was claimed and not sealed: there was no effect. Does nothing to any other. */
  release(method: string, key: string): Promise<void>;
}

/** The sections of a tenant: the built-in one first, the others by id. */
export interface Sections {
  find(id: string): ThreadSection | undefined;
  /** Behind the section `after`. */
  page(limit: number, after?: string): Promise<Page<ThreadSection>>;
  /** Creates the section or takes the place of the one with its id; durable when it resolves. */
  put(section: ThreadSection, once?: Once): Promise<void>;
  /** Frees its threads at once. */
  remove(id: string, once?: Once): Promise<void>;
  /**
   * Where in a section a thread comes to be: right before another, else at the end. Undefined when too many moves to the
   * same spot have left no room there.
   */
  positionIn(sectionId: string, moving: ThreadId, before?: ThreadPlace): string | undefined;
}

export interface AttachmentRow {
  readonly seq: Seq;
  readonly attachment: Attachment;
}

export interface Attachments {
  find(id: ThreadId, type: string, key: string): Promise<Attachment | undefined>;
  /** In the order of adding, behind `after`; may end early as pages of events do. */
  page(id: ThreadId, limit: number, after?: Seq): Promise<Page<AttachmentRow>>;
  /** Threads that have it, ordered by id, behind the thread `after`; `hasMore` may be true before an empty page. */
  owners(type: string, key: string, query: OwnerQuery): Promise<Page<ThreadMeta>>;
}

export interface OwnerQuery {
  readonly limit: number;
  readonly after?: ThreadId;
  /** Only threads that are archived, or only those that are not. */
  readonly archived?: boolean;
}

export interface SearchQuery {
  /** Sought as it is, but for case and kinds of white space, from the beginning of a word on. */
  readonly term: string;
  readonly archived: boolean;
  readonly sortKey: TimeSortKey;
  readonly direction: Direction;
  readonly limit: number;
  readonly from?: From<ThreadPlace>;
}

export interface SearchPage extends Page<{ readonly meta: ThreadMeta; readonly snippet: Snippet }> {
  /** As in `ThreadPage`. */
  readonly next?: ThreadPlace;
}

/** The message, and which of the places in it where the term lies. */
export interface OccurrencePlace {
  readonly seq: Seq;
  readonly index: number;
}

export interface OccurrenceQuery {
  /** Sought anywhere, as it is, but for case and kinds of white space. */
  readonly term: string;
  readonly limit: number;
  readonly after?: OccurrencePlace;
}

export interface Occurrence extends OccurrencePlace {
  readonly turnId: TurnId;
  /** The turn's place among its neighbours. */
  readonly turnSeq: Seq;
  readonly itemId: ItemId;
  readonly snippet: Snippet;
}

export interface OccurrencePage extends Page<Occurrence> {
  /** The page ended early after looking at as many messages as one may: the next page begins behind this place. */
  readonly next?: OccurrencePlace;
}

/** Opened for one tenant. A promise that resolves means: on disk. */
export interface ThreadStore extends Closable {
  /** Why nothing may be written, for people: what would write rejects as *unavailable* with it. Absent: it may. */
  readonly shut?: string | undefined;
  /**
   * Begins a log with its `threadCreated`, accepted at `createdAtMs`; `first` follows it and is counted into the row that
   * `meta` begins. Rejects as *conflict* of kind `exists` if the id is taken. Gives the head.
   */
  create(meta: ThreadMeta, first: readonly EventToStore[], once?: Once): Promise<Seq>;
  /**
   * One transaction: log, tables, key and reply. Gives the new head. Rejects as *conflict* of kind `head_moved` if the head is
   * not `expected`, as *notFound* if there is no such thread, as *unavailable* when the disk refuses (and the log is as before).
   *
   * With a key that is known a mutation is refused, whatever else would be wrong with it: *conflict* of kind `already_done`
   * (the same digest; its reply is in the ledger) or `idempotency_drift` (another digest), *notSettled* of kind `uncertain`
   * (claimed and never sealed).
   */
  append(id: ThreadId, expected: Seq, events: readonly EventToStore[], once?: Once): Promise<Seq>;
  /**
   * Begins the thread `meta.id` with what the turns of `source` were at `at`: turns, items and context under the same ids and
   * sequence numbers, in storage of its own. `meta` is the row before any turn (turnCount 0, no preview); name, settings,
   * archive and read state are the new thread's alone. A turn that was open at `at` ends as interrupted. Records that are
   * damaged are left out. Copied in chunks between which others go on; seen by nobody before it resolves, and cleared away
   * at the next opening when it was cut off. Gives the head. Rejects as *notFound* without a source, as *invalid* for an `at`
   * beyond its head, as *conflict* of kind `exists` if the id is taken.
   */
  fork(source: ThreadId, at: Seq, meta: ThreadMeta, once?: Once): Promise<Seq>;
  /**
   * Removes the thread with its log, tables, keys and long values. It is gone for everyone at once; resolves when its rows
   * are, and until then its id stays taken. Cut off, it is finished when the store is opened again.
   */
  remove(id: ThreadId, once?: Once): Promise<void>;
  /**
   * Up to `limit` records behind `after`, in order; a delta of which `after` lies inside comes with the parts behind it.
   * Costs the same wherever in the log. A page ends early, with at least one record, rather than outgrow 4 Mi characters: only
   * an empty page is the end. A record that is damaged costs no other: a `warned` that names it stands in its place. Rejects
   * as *conflict* of kind `stale_cursor` for an `after` below `oldest`.
   */
  events(id: ThreadId, after: Seq, limit: number): Promise<readonly StoredEvent[]>;
  /** Behind it the log has everything; 0 unless retention has removed records. */
  oldest(id: ThreadId): Promise<Seq>;
  /**
   * What is left of the log up to `through`, in order and without deltas; where the beginning of an item was removed, the item
   * stands there as it is now.
   */
  kept(id: ThreadId, through: Seq): AsyncIterable<StoredEvent>;
  head(id: ThreadId): Promise<Seq | undefined>;
  /** Shared with the store: not to be changed. */
  meta(id: ThreadId): Promise<ThreadMeta | undefined>;
  threads(query: ThreadQuery): Promise<ThreadPage>;
  /**
   * Turns that were reverted do not appear here, nor their items below. Pages of turns and items may end early as those of
   * events do; `hasMore` tells.
   */
  turns(id: ThreadId, query: TurnQuery): Promise<Page<TurnRow>>;
  turn(id: ThreadId, turnId: TurnId): Promise<TurnRow | undefined>;
  items(id: ThreadId, query: ItemQuery): Promise<Page<ItemRow>>;
  item(id: ThreadId, itemId: ItemId): Promise<ItemRow | undefined>;
  /** The model's view: all `contextAdded` items of turns that were not reverted, oldest first, from the last that replaces what was before. */
  context(id: ThreadId): Promise<readonly ContextItem[]>;
  /**
   * Listed threads in which the term was said in a turn that has ended, or that have it in their preview, name or title. What was said
   * in the last moments, or while an index is made anew, may be missing.
   */
  search(query: SearchQuery): Promise<SearchPage>;
  /** Places in messages that were not reverted, oldest first. */
  occurrences(id: ThreadId, query: OccurrenceQuery): Promise<OccurrencePage>;
  openTurns(): Promise<readonly OpenTurn[]>;
  readonly sections: Sections;
  readonly attachments: Attachments;
  readonly ledger: Ledger;
}

/** The store of all tenants: one data directory, one process. Closing flushes. */
export interface History extends Closable {
  /** As of its stores. */
  readonly shut?: string | undefined;
  /** The same store for the same tenant; it closes with the history. Throws *invalid* for a name that cannot be a key. */
  forTenant(tenant: string): ThreadStore;
}
