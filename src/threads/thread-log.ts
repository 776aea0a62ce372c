// The log of one loaded thread with what follows from it: the state, what is on disk, and what has been shown.

import type { ApprovalBroker } from '../approvals/broker.ts';
import type { Principal } from '../auth/principal.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { refused } from '../history/shut.ts';
import type { Once, ThreadStore } from '../history/store.ts';
import type { ContextItem } from '../model/context.ts';
import { type DeltaEvent, lastSeq, type StoredEvent, type ThreadEvent } from '../model/event.ts';
import type { ItemId, Seq, ThreadId } from '../model/ids.ts';
import type { ContextCache } from './context-cache.ts';
import type { Cursor, Subscriber } from './cursor.ts';
import type { Frame } from './frame.ts';
import { LogWriter } from './log-writer.ts';
import { Publisher } from './publisher.ts';
import { applyEvent, type LiveThread, questionsOf, waitingFlags } from './state.ts';

export interface ThreadLogParts {
  readonly store: ThreadStore;
  readonly broker: ApprovalBroker;
  readonly contexts: ContextCache;
  /** The question to a client that goes out with the beginning of an item. */
  readonly callOf: (itemId: ItemId) => Frame | undefined;
  readonly validates: boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** Told after each publication, for those who only see the list of threads. */
  readonly published: (events: readonly StoredEvent[]) => void;
  /** Told once: nothing more can be written, and the thread has to be loaded again. */
  readonly failed: () => void;
}

/** Where a thread stands at one moment. */
export interface Place {
  /** As it is on disk; `head` is the place of the last event in it. */
  readonly thread: LiveThread;
  /** Whatever has been read of the thread since is true at `head`: nothing but streamed text has come, or is on its way. */
  isCurrent(): boolean;
  /** Settles when what is on its way to the disk is there. */
  passed(): Promise<void>;
}

export interface Subscription extends Place {
  readonly cursor: Cursor;
  /** Begins to send: first the questions that stand, then what comes. */
  start(): void;
}

/** What can be read while it goes on. */
export interface Readable<P extends Place = Place> {
  place(): P;
  /** Runs `work` while nothing more comes to the disk: a place that is asked for in it stays the newest one until it is over. */
  still<T>(work: () => Promise<T>): Promise<T>;
}

export class ThreadLog implements Readable {
  readonly threadId: ThreadId;
  readonly #parts: ThreadLogParts;
  readonly #writer: LogWriter;
  readonly #publisher: Publisher;
  #accepted: LiveThread;
  #stored: LiveThread;
  /** Events other than streamed text, accepted and on disk. */
  #changes = { accepted: 0, stored: 0 };

  constructor(parts: ThreadLogParts, thread: LiveThread) {
    const { store, broker, callOf, clock, log, validates, published } = parts;
    const threadId = thread.meta.id;
    this.threadId = threadId;
    this.#parts = parts;
    this.#accepted = thread;
    this.#stored = thread;
    const newest = () => this.#stored;
    this.#publisher = new Publisher(
      { threadId, store, broker, callOf, log, thread: newest, validates, published },
      thread.head,
    );
    const failed = (error: unknown) => {
      this.forget();
      log.error({ err: error, threadId }, 'the history of a thread could not be written');
      parts.failed();
    };
    const committed = (batch: readonly StoredEvent[]) => this.#committed(batch);
    this.#writer = new LogWriter({ store, threadId, clock, committed, failed }, thread.head);
  }

  /** With everything accepted, on disk or on its way. */
  get accepted(): LiveThread {
    return this.#accepted;
  }

  /** With what is on disk. */
  get stored(): LiveThread {
    return this.#stored;
  }

  /** Where the thread stands now. */
  place(): Place {
    const thread = this.#stored;
    const { stored } = this.#changes;
    return {
      thread,
      isCurrent: () => this.#changes.accepted === stored,
      passed: () => this.#writer.committing(),
    };
  }

  still<T>(work: () => Promise<T>): Promise<T> {
    return this.#writer.paused(work);
  }

  get subscribers(): readonly Subscriber[] {
    return this.#publisher.subscribers;
  }

  /** Those of them who may answer questions. */
  get audience(): readonly Principal[] {
    return this.subscribers
      .map(({ principal }) => principal)
      .filter(({ permissions }) => permissions.has('approval:resolve'));
  }

  /** Stores the events in one transaction, then shows them; settles with the head when they are on disk. */
  append(events: readonly ThreadEvent[], once?: Once): Promise<Seq> {
    const { shut } = this.#parts.store;
    // Nothing has failed: whoever listens goes on listening.
    if (shut !== undefined) return Promise.reject(refused(shut));
    const placed = events.map((event) => this.#accept(event));
    return this.#writer.append(placed, once);
  }

  /** The same with an answer, which shows the thread as it is with these events and all before them. */
  async answer<R>(
    events: readonly ThreadEvent[],
    show: (thread: LiveThread) => R,
    once: (answer: R) => Once | undefined,
  ): Promise<R> {
    const atMs = this.#parts.clock.now();
    const after = (thread: LiveThread, event: ThreadEvent): LiveThread => {
      const stored = { seq: thread.head + 1, atMs, event };
      return applyEvent(thread, stored, lastSeq(stored));
    };
    const answer = show(events.reduce(after, this.#accepted));
    await this.append(events, once(answer));
    return answer;
  }

  /** Stores streamed text with the next commit; settles when more may come. */
  stream(delta: DeltaEvent): Promise<void> {
    this.#accepted = { ...this.#accepted, head: this.#accepted.head + delta.parts.length };
    return this.#writer.stream(delta);
  }

  /** Settles when everything accepted so far is on disk or has failed. */
  settled(): Promise<void> {
    return this.#writer.settled();
  }

  /** The model's view with everything that was accepted. */
  context(): Promise<readonly ContextItem[]> {
    return this.#parts.contexts.get(this, async () => {
      await this.settled();
      return this.#parts.store.context(this.threadId);
    });
  }

  /** Lets go of what is kept for the next turn. */
  forget(): void {
    this.#parts.contexts.drop(this);
  }

  /** Keeps what is committed from now on back until the returned function is called. */
  hold(): () => void {
    return this.#publisher.hold();
  }

  /** Joins behind `after`, by default behind what is on disk; nothing is sent before `start`. */
  subscribe(subscriber: Subscriber, after?: Seq): Subscription {
    const place = this.place();
    const cursor = this.#publisher.subscribe(subscriber, after ?? place.thread.head);
    return {
      ...place,
      cursor,
      start: () => {
        this.#publisher.ask(cursor, this.#stored);
        cursor.start();
      },
    };
  }

  unsubscribe(subscriber: Subscriber): boolean {
    for (const { proposal } of questionsOf(this.#stored)) this.#parts.broker.left(proposal.id, subscriber.id);
    return this.#publisher.unsubscribe(subscriber);
  }

  /** Follows the event in the accepted state; the flags of the thread go with the events that change them. */
  #accept(event: ThreadEvent): ThreadEvent {
    const before = waitingFlags(this.#accepted);
    const stored = { seq: this.#accepted.head + 1, atMs: this.#parts.clock.now(), event };
    this.#accepted = applyEvent(this.#accepted, stored, lastSeq(stored));
    this.#changes.accepted += 1;
    if (event.type === 'contextAdded' && event.replaces) this.forget();
    else if (event.type === 'contextAdded') this.#parts.contexts.add(this, event.items);
    if (event.type === 'turnsReverted') this.forget();
    if (event.type !== 'approvalRequested' && event.type !== 'approvalResolved') return event;
    const after = waitingFlags(this.#accepted);
    return after.length === before.length ? event : { ...event, flags: after };
  }

  #committed(batch: readonly StoredEvent[]): void {
    for (const stored of batch) this.#stored = applyEvent(this.#stored, stored, lastSeq(stored));
    this.#changes.stored += batch.filter(({ event }) => event.type !== 'delta').length;
    this.#publisher.committed(batch);
  }
}
