// The outgoing queue of one connection: batches what a tick sends, knows what the wire has not taken, notices a wire that stands still.

import type { Clock } from '../base/clock.ts';
import { type Deferred, deferred } from '../base/signals.ts';

/** The most bytes handed to the wire at once, so that progress can be seen; one larger frame goes alone. */
export const BATCH_BYTES = 256 * 1024;
/** Without a byte taken for so long while something is pending, the consumer counts as too slow. */
export const STALL_MS = 60_000;
/** A frame beyond a batch is taken whole or not at all, as far as we can see: it gets the time this rate needs. */
const SLOWEST_BYTES_PER_MS = 64;

/** Hands a batch to the wire. `progress` may be called while parts are taken; `taken` is called once, at the end or on failure. */
export type WriteBatch = (batch: readonly Buffer[], progress: () => void, taken: () => void) => void;

interface Waiter {
  readonly below: number;
  readonly done: Deferred<void>;
}

export class Outgoing {
  readonly #write: WriteBatch;
  readonly #clock: Clock;
  readonly #stalled: () => void;
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #inFlightBytes = 0;
  #isFlushing = false;
  #lastProgress = 0;
  #stopWatching: (() => void) | undefined;
  #waiters: Waiter[] = [];
  #isClosed = false;

  constructor(write: WriteBatch, clock: Clock, stalled: () => void) {
    this.#write = write;
    this.#clock = clock;
    this.#stalled = stalled;
  }

  get pending(): number {
    return this.#queuedBytes + this.#inFlightBytes;
  }

  send(frames: readonly (string | Buffer)[]): void {
    if (this.#isClosed) return;
    for (const frame of frames) {
      const bytes = typeof frame === 'string' ? Buffer.from(frame) : frame;
      this.#queue.push(bytes);
      this.#queuedBytes += bytes.length;
    }
    if (this.#isFlushing || this.#queue.length === 0) return;
    this.#isFlushing = true;
    // All that one tick sends reaches the wire in one write.
    process.nextTick(() => this.#flush());
  }

  drained(below: number): Promise<void> {
    if (this.#isClosed || this.pending <= below) return Promise.resolve();
    const done = deferred();
    this.#waiters.push({ below, done });
    return done.promise;
  }

  /** Forgets what the wire has not been given; nothing is sent any more. */
  discard(): void {
    this.#isClosed = true;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#inFlightBytes = 0;
    this.#stopWatching?.();
    this.#stopWatching = undefined;
    this.#settle();
  }

  #flush(): void {
    if (this.#isClosed || this.#queue.length === 0) {
      this.#isFlushing = false;
      return;
    }
    const batch = this.#nextBatch();
    this.#lastProgress = this.#clock.elapsed();
    this.#watch();
    this.#write(
      batch,
      () => {
        this.#lastProgress = this.#clock.elapsed();
      },
      () => {
        if (this.#isClosed) return;
        this.#inFlightBytes = 0;
        this.#settle();
        this.#flush();
      },
    );
  }

  #nextBatch(): readonly Buffer[] {
    let bytes = 0;
    let count = 0;
    for (const frame of this.#queue) {
      if (count > 0 && bytes + frame.length > BATCH_BYTES) break;
      bytes += frame.length;
      count += 1;
    }
    this.#queuedBytes -= bytes;
    this.#inFlightBytes = bytes;
    return this.#queue.splice(0, count);
  }

  #settle(): void {
    if (this.#waiters.length === 0) return;
    const reached = this.#waiters.filter((waiter) => this.#isClosed || this.pending <= waiter.below);
    this.#waiters = this.#waiters.filter((waiter) => !reached.includes(waiter));
    for (const waiter of reached) waiter.done.resolve();
  }

  /** One timer that looks again when it is due, instead of one for every batch. */
  #watch(wait = STALL_MS): void {
    if (this.#stopWatching) return;
    this.#stopWatching = this.#clock.timer(wait, () => {
      this.#stopWatching = undefined;
      if (this.#inFlightBytes === 0) return;
      const allowance = STALL_MS + Math.max(0, this.#inFlightBytes - BATCH_BYTES) / SLOWEST_BYTES_PER_MS;
      const left = this.#lastProgress + allowance - this.#clock.elapsed();
      if (left <= 0) this.#stalled();
      else this.#watch(left);
    });
  }
}
