// When requests may start: in order, and only while their answers are likely to find room before the wire.

import type { Outbox } from './outbox.ts';

/** What an answer is taken to need while it is prepared, in bytes: all small ones that may be in flight leave room for large ones. */
const SMALL_ANSWER = 4 * 1024;
const LARGE_ANSWER = 1024 * 1024;

interface Waiting {
  readonly bytes: number;
  readonly start: (answered: () => void) => void;
}

export class StartGate {
  readonly #outbox: Outbox;
  #waiting: Waiting[] = [];
  /** Bytes set aside for answers that are being prepared. */
  #prepared = 0;
  #isWatching = false;
  #isShut = false;

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  /** Calls `start` now or when there is room, after those that came before; `answered` is to be called once, after the answer. */
  enter(hasLargeAnswer: boolean, start: (answered: () => void) => void): void {
    if (this.#isShut) return;
    const next = { bytes: hasLargeAnswer ? LARGE_ANSWER : SMALL_ANSWER, start };
    if (this.#waiting.length === 0 && this.#hasRoomFor(next)) {
      this.#start(next);
      return;
    }
    this.#waiting.push(next);
    this.#advance();
  }

  /** Forgets what waits; nothing is started any more. */
  shut(): void {
    this.#isShut = true;
    this.#waiting = [];
  }

  #hasRoomFor({ bytes }: Waiting): boolean {
    return this.#outbox.hasRoomFor(this.#prepared + bytes);
  }

  #start({ bytes, start }: Waiting): void {
    this.#prepared += bytes;
    start(() => {
      this.#prepared -= bytes;
      if (this.#waiting.length > 0) this.#advance();
    });
  }

  #advance(): void {
    for (;;) {
      const next = this.#waiting[0];
      if (!next) return;
      if (!this.#hasRoomFor(next)) break;
      this.#waiting.shift();
      this.#start(next);
    }
    // While the outbox is nearly empty it is the answers in preparation that take the room: the next of them looks again.
    if (this.#isWatching || this.#outbox.isNearlyEmpty()) return;
    this.#isWatching = true;
    // The end of the connection makes room, too, and shuts the gate a moment later.
    void this.#outbox.hasRoom().then(() => setImmediate(() => this.#look()));
  }

  #look(): void {
    this.#isWatching = false;
    this.#advance();
  }
}
