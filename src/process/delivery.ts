// Handing output on as fast as it is taken: the stream is paused while the consumer is busy, unless it has to be emptied.

import type { Readable } from 'node:stream';

export type OnOutput = (chunk: Buffer) => void | Promise<void>;

export interface DeliveryOptions {
  readonly onOutput: OnOutput;
  /** Bytes that are handed on at most; what comes after is only read. */
  readonly limit: number;
}

/** Undelivered bytes above which the stream is paused even while it is being emptied; more than a pipe can hold. */
const BACKLOG_LIMIT = 1024 * 1024;

export class Delivery {
  readonly #stream: Readable;
  readonly #options: DeliveryOptions;
  readonly #onFailure: (error: unknown) => void;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #taken = 0;
  #isEmptying = false;
  #isStopped = false;
  #isRunning = false;
  #round: Promise<void> = Promise.resolve();

  /** `onFailure` is told once when the consumer throws; nothing is handed on after that. */
  constructor(stream: Readable, options: DeliveryOptions, onFailure: (error: unknown) => void) {
    this.#stream = stream;
    this.#options = options;
    this.#onFailure = onFailure;
  }

  push(chunk: Buffer): void {
    const part = chunk.subarray(0, Math.max(0, this.#options.limit - this.#taken));
    if (part.length === 0 || this.#isStopped) return;
    this.#taken += part.length;
    this.#waiting.push(part);
    this.#waitingBytes += part.length;
    if (!this.#isRunning) this.#round = this.#run();
    if (this.#isRunning && (!this.#isEmptying || this.#waitingBytes > BACKLOG_LIMIT)) this.#stream.pause();
  }

  /** From now on reads what the pipe still holds without waiting for the consumer. */
  empty(): void {
    this.#isEmptying = true;
    this.#stream.resume();
  }

  /** Settles when the consumer has taken everything that was pushed. */
  async done(): Promise<void> {
    while (this.#isRunning) await this.#round;
  }

  /** Hands nothing on any more and lets the stream run. */
  stop(): void {
    this.#isStopped = true;
    this.#waiting.length = 0;
    this.#stream.resume();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      for (let chunk = this.#waiting.shift(); chunk && !this.#isStopped; chunk = this.#waiting.shift()) {
        this.#waitingBytes -= chunk.length;
        const taking = this.#options.onOutput(chunk);
        if (taking) await taking;
      }
    } catch (error) {
      this.stop();
      this.#onFailure(error);
    } finally {
      this.#isRunning = false;
      this.#stream.resume();
    }
  }
}
