// Shows committed events to everyone who listens to a thread: in order, each once, and not before the reply that caused them.

import type { ApprovalBroker } from '../approvals/broker.ts';
import type { Log } from '../base/log.ts';
import type { ThreadStore } from '../history/store.ts';
import { lastSeq, type StoredEvent } from '../model/event.ts';
import type { ItemId, Seq, ThreadId } from '../model/ids.ts';
import type { Item } from '../model/item.ts';
import { Cursor, type LogSource, type Subscriber } from './cursor.ts';
import type { Frame } from './frame.ts';
import { checkFrames } from './frame-check.ts';
import { mergeDeltas, questionFrame, type RenderContext, render } from './render.ts';
import { type LiveThread, questionsOf, statusOf, waitingFlags } from './state.ts';

export interface PublisherParts {
  readonly threadId: ThreadId;
  readonly store: ThreadStore;
  readonly broker: ApprovalBroker;
  readonly log: Log;
  readonly callOf: (itemId: ItemId) => Frame | undefined;
  /** As it is on disk. */
  readonly thread: () => LiveThread;
  /** Checks what is rendered against its schemas: for tests and development. */
  readonly validates: boolean;
  /** Told after each publication, for those who only see the list of threads. */
  readonly published: (events: readonly StoredEvent[]) => void;
}

export class Publisher {
  readonly #parts: PublisherParts;
  readonly #cursors = new Map<Subscriber, Cursor>();
  /** Messages of the agent that a turn may end with, by id: the newest one only. */
  #message: Item | undefined;
  #published: Seq;
  #waiting: StoredEvent[] = [];
  #holds = 0;

  constructor(parts: PublisherParts, head: Seq) {
    this.#parts = parts;
    this.#published = head;
  }

  get subscribers(): readonly Subscriber[] {
    return [...this.#cursors.keys()];
  }

  /** Keeps what is committed from now on back until the returned function is called. */
  hold(): () => void {
    this.#holds += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#holds -= 1;
      this.#publish();
    };
  }

  /** Events that are on disk. */
  committed(batch: readonly StoredEvent[]): void {
    this.#waiting.push(...batch);
    this.#publish();
  }

  /** A cursor from `after` on, which may be ahead of what has been shown; it sends nothing before it is started. */
  subscribe(subscriber: Subscriber, after: Seq): Cursor {
    const source: LogSource = {
      published: () => this.#published,
      events: (from, limit) => this.#parts.store.events(this.#parts.threadId, from, limit),
      render: (page) => this.#renderPage(page),
    };
    const cursor = new Cursor(subscriber, source, after, this.#parts.log);
    this.#cursors.get(subscriber)?.stop();
    this.#cursors.set(subscriber, cursor);
    return cursor;
  }

  unsubscribe(subscriber: Subscriber): boolean {
    this.#cursors.get(subscriber)?.stop();
    return this.#cursors.delete(subscriber);
  }

  /** Sends the questions that stand to one who has just joined. */
  ask(cursor: Cursor, thread: LiveThread): void {
    const frames: Frame[] = [];
    for (const { proposal, seq } of questionsOf(thread)) {
      const requestId = this.#parts.broker.requestIdOf(proposal.id);
      if (requestId === undefined || seq > cursor.position) continue;
      frames.push(questionFrame(this.#parts.threadId, proposal, requestId));
    }
    if (frames.length > 0) cursor.subscriber.send(frames);
  }

  #publish(): void {
    if (this.#holds > 0 || this.#waiting.length === 0) return;
    const batch = this.#waiting;
    this.#waiting = [];
    const from = batch[0]!.seq;
    const to = lastSeq(batch.at(-1)!);
    const hasListeners = this.#cursors.size > 0;
    const frames: Frame[] = [];
    for (const stored of batch) {
      if (stored.event.type === 'itemCompleted' && stored.event.item.type === 'agentMessage')
        this.#message = stored.event.item;
      if (hasListeners)
        frames.push(
          ...render(
            stored,
            this.#context((id) => (this.#message?.id === id ? this.#message : undefined)),
          ),
        );
      if (stored.event.type === 'approvalResolved') {
        for (const subscriber of this.#cursors.keys()) subscriber.forget(stored.event.requestId);
      }
    }
    if (this.#parts.validates) checkFrames(frames);
    this.#published = to;
    for (const cursor of this.#cursors.values()) cursor.publish({ from, to, frames });
    this.#parts.published(batch);
  }

  async #renderPage(page: readonly StoredEvent[]): Promise<Frame[]> {
    const items = new Map<ItemId, Item>();
    for (const { event } of page) {
      if (event.type !== 'turnCompleted' || event.lastMessageId === null) continue;
      const row = await this.#parts.store.item(this.#parts.threadId, event.lastMessageId);
      if (row) items.set(event.lastMessageId, row.item);
    }
    const context = this.#context((id) => items.get(id));
    const frames = mergeDeltas(page).flatMap((stored) => render(stored, context));
    if (this.#parts.validates) checkFrames(frames);
    return frames;
  }

  #context(item: (id: ItemId) => Item | undefined): RenderContext {
    const { threadId, broker, callOf, thread } = this.#parts;
    return {
      ...{ threadId, item, callOf },
      requestIdOf: (id) => broker.requestIdOf(id),
      readState: () => thread().meta.readState,
      status: () => statusOf(thread()),
      asideFlags: () => waitingFlags({ turn: null, asides: thread().asides }),
    };
  }
}
