// The one writer of a thread's log: gives events their places, and joins what arrives during a commit into the next one.

import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { deferred } from '../base/signals.ts';
import type { EventToStore, Once, ThreadStore } from '../history/store.ts';
import { type DeltaEvent, type StoredEvent, span, type ThreadEvent } from '../model/event.ts';
import type { Seq, ThreadId } from '../model/ids.ts';

export interface LogWriterParts {
  readonly store: ThreadStore;
  readonly threadId: ThreadId;
  readonly clock: Clock;
  /** Called in order, right after each commit. */
  readonly committed: (batch: readonly StoredEvent[]) => void;
  /** Called once: nothing more can be written through this object. */
  readonly failed: (error: unknown) => void;
}

interface Group {
  readonly events: { seq: Seq; atMs: number; event: ThreadEvent }[];
  readonly once: Once | undefined;
  readonly done: ReturnType<typeof deferred<Seq>>;
}

/** Characters of streamed text that may wait for a commit before the producer is slowed down. */
const MAX_WAITING_TEXT = 1024 * 1024;

export class LogWriter {
  readonly #parts: LogWriterParts;
  #head: Seq;
  #committedHead: Seq;
  #waiting: Group[] = [];
  #waitingText = 0;
  #writing: Promise<void> | undefined;
  #commit: Promise<unknown> | undefined;
  #failure: AppError | undefined;
  #pauses = 0;
  #resumed = deferred();

  constructor(parts: LogWriterParts, head: Seq) {
    this.#parts = parts;
    this.#head = head;
    this.#committedHead = head;
  }

  /** The place of the last event that was accepted, on disk or on its way. */
  get head(): Seq {
    return this.#head;
  }

  /** Stores events in one transaction; settles with the head when they are on disk. */
  append(events: readonly ThreadEvent[], once?: Once): Promise<Seq> {
    if (this.#failure) return Promise.reject(this.#failure);
    const group: Group = { events: [], once, done: deferred<Seq>() };
    for (const event of events) this.#place(group, event);
    this.#waiting.push(group);
    this.#writing ??= this.#write();
    return group.done.promise;
  }

  /** Stores streamed text with the next commit; settles when more may come. */
  stream(delta: DeltaEvent): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    this.#waitingText += delta.parts.reduce((sum, part) => sum + part.length, 0);
    const group = this.#waiting.at(-1);
    const last = group?.events.at(-1);
    if (group && last?.event.type === 'delta' && continues(last.event, delta)) {
      last.event = { ...last.event, parts: [...last.event.parts, ...delta.parts] };
      this.#head += delta.parts.length;
    } else {
      void this.append([delta]).catch(() => {});
    }
    return this.#waitingText > MAX_WAITING_TEXT ? (this.#writing ?? Promise.resolve()) : Promise.resolve();
  }

  /** Settles when everything accepted so far is on disk or has failed. */
  async settled(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  /** Settles when the commit under way has ended, if there is one. */
  async committing(): Promise<void> {
    await this.#commit?.catch(() => {});
  }

  /** Runs `work` while nothing is committed: what is accepted meanwhile waits, but not for ever, however often this is asked. */
  async paused<T>(work: () => Promise<T>): Promise<T> {
    while (this.#pauses > 0 && this.#waiting.length > 0) await this.#resumed.promise;
    if (this.#pauses++ === 0) this.#resumed = deferred();
    try {
      await this.committing();
      return await work();
    } finally {
      if (--this.#pauses === 0) this.#resumed.resolve();
    }
  }

  #place(group: Group, event: ThreadEvent): void {
    group.events.push({ seq: this.#head + 1, atMs: this.#parts.clock.now(), event });
    this.#head += span(event);
  }

  async #write(): Promise<void> {
    // What one read of a wire brings arrives within one round of the loop, and is written together.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0 && !this.#failure) {
      while (this.#pauses > 0) await this.#resumed.promise;
      const batch = this.#takeBatch();
      const events = batch.flatMap((group) => group.events);
      const once = batch.find((group) => group.once)?.once;
      try {
        const toStore: EventToStore[] = events;
        const commit = this.#parts.store.append(this.#parts.threadId, this.#committedHead, toStore, once);
        this.#commit = commit;
        this.#committedHead = await commit;
        this.#parts.committed(events);
        for (const group of batch) group.done.resolve(this.#committedHead);
      } catch (error) {
        this.#fail(error, batch);
      }
    }
    this.#writing = undefined;
  }

  /** All groups that wait, but no more than one with a key: a transaction stores one. */
  #takeBatch(): Group[] {
    const keyed = this.#waiting.findIndex((group) => group.once !== undefined);
    const count = keyed === -1 ? this.#waiting.length : keyed + 1;
    const batch = this.#waiting.splice(0, count);
    this.#waitingText = 0;
    return batch;
  }

  #fail(error: unknown, batch: readonly Group[]): void {
    this.#failure =
      error instanceof AppError
        ? error
        : new AppError('internal', 'the history could not be written', {}, { cause: error });
    for (const group of [...batch, ...this.#waiting]) {
      group.done.promise.catch(() => {});
      group.done.reject(this.#failure);
    }
    this.#waiting = [];
    this.#parts.failed(error);
  }
}

function continues(last: DeltaEvent, next: DeltaEvent): boolean {
  return (
    last.itemId === next.itemId &&
    last.stream === next.stream &&
    last.index === next.index &&
    last.turnId === next.turnId
  );
}
