// One subscriber's place in the log of a thread: live, or catching up from the log with neighbouring deltas joined.

import type { Principal } from '../auth/principal.ts';
import type { Log } from '../base/log.ts';
import { lastSeq, type StoredEvent } from '../model/event.ts';
import type { Seq } from '../model/ids.ts';
import type { Frame } from './frame.ts';

/** Who listens to a thread, in terms of its connection. */
export interface Subscriber {
  /** Of its session. */
  readonly id: string;
  readonly principal: Principal;
  /** The name that its client goes by. */
  readonly clientName: string;
  /** Sends the frames that this client wants, in its form; questions among them may be answered from then on. */
  send(frames: readonly Frame[]): void;
  /** More is waiting for the wire than should. */
  isFull(): boolean;
  /** Settles when there is room again or the connection is closed. */
  hasRoom(): Promise<void>;
  /** The question has ended: an answer to it no longer counts on this connection. */
  forget(requestId: number): void;
  readonly signal: AbortSignal;
}

/** The log as a cursor needs it. */
export interface LogSource {
  /** The last event that may be shown. */
  published(): Seq;
  events(after: Seq, limit: number): Promise<readonly StoredEvent[]>;
  /** Frames of events read from the log. */
  render(page: readonly StoredEvent[]): Promise<Frame[]>;
}

/** Rendered events as they are published, for all cursors that are live. */
export interface Publication {
  readonly from: Seq;
  readonly to: Seq;
  readonly frames: readonly Frame[];
}

const PAGE = 200;

export class Cursor {
  readonly subscriber: Subscriber;
  readonly #source: LogSource;
  readonly #log: Log;
  #position: Seq;
  #isStarted = false;
  #isLive = false;
  #isCatchingUp = false;
  #isStopped = false;

  /** Begins behind `after`; nothing is sent before `start`. */
  constructor(subscriber: Subscriber, source: LogSource, after: Seq, log: Log) {
    this.subscriber = subscriber;
    this.#source = source;
    this.#position = after;
    this.#log = log;
  }

  get position(): Seq {
    return this.#position;
  }

  start(): void {
    this.#isStarted = true;
    void this.#catchUp();
  }

  /** Sends nothing more, also of what is being read. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Everything up to `to` has become visible. A cursor that is not live reads it from the log later. */
  publish(publication: Publication): void {
    if (!this.#isStarted || this.#isOver || publication.to <= this.#position) return;
    const isAhead = publication.from <= this.#position;
    if (!this.#isLive || isAhead || this.subscriber.isFull()) {
      this.#isLive = false;
      void this.#catchUp();
      return;
    }
    this.#position = publication.to;
    this.subscriber.send(publication.frames);
  }

  get #isOver(): boolean {
    return this.#isStopped || this.subscriber.signal.aborted;
  }

  async #catchUp(): Promise<void> {
    if (this.#isCatchingUp) return;
    this.#isCatchingUp = true;
    try {
      while (!this.#isOver && !this.#becomesLive()) {
        if (this.subscriber.isFull()) await this.subscriber.hasRoom();
        if (!this.#isOver) await this.#readOn();
      }
    } catch (error) {
      if (this.#isOver) return;
      // Without a way on in the log this client would see a gap; the next attempt is the next publication.
      this.#log.error({ err: error }, 'a subscriber could not be brought up to date');
    } finally {
      this.#isCatchingUp = false;
    }
  }

  /** With nothing left to read, publications are taken from here on; no await lies between the two. */
  #becomesLive(): boolean {
    this.#isLive = this.#position >= this.#source.published();
    return this.#isLive;
  }

  async #readOn(): Promise<void> {
    const visible = this.#source.published();
    const page = (await this.#source.events(this.#position, PAGE)).filter((stored) => lastSeq(stored) <= visible);
    const last = page.at(-1);
    if (!last) {
      this.#position = visible;
      return;
    }
    const frames = await this.#source.render(page);
    if (this.#isOver) return;
    this.#position = lastSeq(last);
    this.subscriber.send(frames);
  }
}
