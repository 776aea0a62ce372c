// Frames that have arrived and wait for the one reader; tells the wire to pause when the reader falls behind.

import type { BadFrame } from './connection.ts';

type Frame = string | BadFrame;

interface Waiting {
  resolve(result: IteratorResult<Frame, undefined>): void;
  reject(error: unknown): void;
}

/** Bytes waiting for the reader above which the wire is paused, and below which it goes on. */
const HIGH_WATER = 1024 * 1024;
const LOW_WATER = HIGH_WATER / 4;
/** What keeping a frame costs besides its text. */
const FRAME_COST = 64;

export interface Flow {
  pause(): void;
  resume(): void;
}

export class Inbox implements AsyncIterableIterator<Frame, undefined> {
  readonly #flow: Flow;
  #queue: { readonly frame: Frame; readonly cost: number }[] = [];
  #head = 0;
  #cost = 0;
  #waiting: Waiting | undefined;
  #end: { readonly error?: unknown } | undefined;
  #isPaused = false;

  constructor(flow: Flow) {
    this.#flow = flow;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  push(frame: Frame, bytes: number): void {
    if (this.#end) return;
    if (this.#waiting) {
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting.resolve({ done: false, value: frame });
      return;
    }
    const cost = bytes + FRAME_COST;
    this.#queue.push({ frame, cost });
    this.#cost += cost;
    if (this.#cost > HIGH_WATER && !this.#isPaused) {
      this.#isPaused = true;
      this.#flow.pause();
    }
  }

  /** No more will come; what waits can still be read, then an error is thrown if there is one. Later ends change nothing. */
  end(error?: unknown): void {
    if (this.#end) return;
    this.#end = error === undefined ? {} : { error };
    if (!this.#waiting) return;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (error === undefined) waiting.resolve({ done: true, value: undefined });
    else waiting.reject(error);
  }

  /** Ends, and forgets what was not read. */
  drop(): void {
    this.#queue = [];
    this.#head = 0;
    this.#cost = 0;
    this.end();
  }

  next(): Promise<IteratorResult<Frame, undefined>> {
    const entry = this.#queue[this.#head];
    if (entry) {
      this.#remove(entry.cost);
      return Promise.resolve({ done: false, value: entry.frame });
    }
    if (this.#end) {
      const { error } = this.#end;
      this.#end = {};
      return error === undefined ? Promise.resolve({ done: true, value: undefined }) : Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #remove(cost: number): void {
    this.#head += 1;
    this.#cost -= cost;
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    }
    if (this.#isPaused && this.#cost <= LOW_WATER) {
      this.#isPaused = false;
      this.#flow.resume();
    }
  }
}
