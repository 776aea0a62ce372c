// One stream of a process up to its cap: handed on piece by piece as fast as it is taken, or kept.

import { isAscii } from 'node:buffer';
import type { Readable } from 'node:stream';
import { endOf } from './confined.ts';
import { Delivery } from './delivery.ts';

/** Takes a piece of output; `capReached` with the last one of a stream that came to its cap. While a promise stands the process is slowed down. */
export type OnPiece = (piece: Buffer, capReached: boolean) => void | Promise<void>;

export class Capture {
  /** Settles when nobody holds the stream any more. */
  readonly ended: Promise<void>;
  readonly #stream: Readable;
  readonly #cap: number;
  readonly #onPiece: OnPiece;
  readonly #delivery: Delivery;
  #taken = 0;
  #delivered = 0;
  #hasOutput = false;
  #isStopped = false;

  /** Reads from now on; what comes after `cap` bytes is thrown away. `onFailure` is told once when `onPiece` throws. */
  constructor(stream: Readable, cap: number, onPiece: OnPiece, onFailure: (error: unknown) => void) {
    this.#stream = stream;
    this.#cap = cap;
    this.#onPiece = onPiece;
    this.ended = endOf(stream);
    const onOutput = (piece: Buffer) => {
      this.#delivered += piece.length;
      return onPiece(piece, this.#delivered >= cap);
    };
    this.#delivery = new Delivery(stream, { onOutput, limit: cap }, onFailure);
    stream.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  /** As many bytes as the cap allows came. */
  get capReached(): boolean {
    return this.#hasOutput && this.#taken >= this.#cap;
  }

  /** After the exit: reads what is there without waiting for the consumer. */
  empty(): void {
    this.#delivery.empty();
  }

  /** Takes nothing more from the stream; settles when the consumer has taken what came before, and frees the stream. */
  async finish(): Promise<void> {
    this.#isStopped = true;
    await this.#delivery.done();
    this.#stream.destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#isStopped) return;
    if (!this.#hasOutput && this.#cap === 0) void this.#onPiece(Buffer.alloc(0), true);
    this.#hasOutput = true;
    this.#taken = Math.min(this.#cap, this.#taken + chunk.length);
    this.#delivery.push(chunk);
  }
}

/** So many pieces are joined: a stream may come byte by byte. */
const JOINED = 1024;

/** Everything that came of a stream. */
export class Kept {
  readonly #blocks: Buffer[] = [];
  #pieces: Buffer[] = [];
  #length = 0;

  push(piece: Buffer): void {
    this.#length += piece.length;
    this.#pieces.push(piece);
    if (this.#pieces.length < JOINED) return;
    this.#blocks.push(Buffer.concat(this.#pieces));
    this.#pieces = [];
  }

  get length(): number {
    return this.#length;
  }

  text(): string {
    const bytes = Buffer.concat([...this.#blocks, ...this.#pieces], this.#length);
    return bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8');
  }
}
