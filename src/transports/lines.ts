// Newline framing on bytes: finds records in a byte stream that may be cut anywhere, in linear time and bounded memory.

import { isUtf8 } from 'node:buffer';
import type { BadFrame } from './connection.ts';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** How much of an unreadable line is kept, in bytes. */
const START_BYTES = 4096;
const FIRST_CAPACITY = 4096;
/** A partial line's memory above this is given back when the line is over. */
const KEPT_CAPACITY = 256 * 1024;

/** Takes one record: its text or why it cannot be read, and the bytes it cost. */
export type TakeFrame = (frame: string | BadFrame, bytes: number) => void;

/**
 * Cuts bytes into lines. Records end at LF only; a CR before it, blank lines and a byte order mark at the very start are
 * ignored. A line above the limit is reported once, when it passes the limit, and skipped up to its LF. Bytes that are not
 * UTF-8 cost their own line and no other.
 */
export class LineReader {
  readonly #take: TakeFrame;
  readonly #limit: () => number;
  #partial = Buffer.alloc(0);
  #length = 0;
  #isSkipping = false;
  #isFirst = true;

  /** `limit` is asked for every line, so that it may change between lines; in bytes, without the line's end. */
  constructor(limit: () => number, take: TakeFrame) {
    this.#limit = limit;
    this.#take = take;
  }

  push(chunk: Buffer): void {
    let from = 0;
    while (from < chunk.length) {
      const end = chunk.indexOf(LF, from);
      if (end < 0) {
        this.#hold(chunk.subarray(from));
        return;
      }
      this.#finish(chunk.subarray(from, end));
      from = end + 1;
    }
  }

  /** The stream is over: an unfinished last line counts only if it is whole JSON, since a cut command must not run. */
  end(): void {
    if (!this.#isSkipping && this.#length > 0 && isWholeJson(this.#partial.subarray(0, this.#length)))
      this.#line(this.#partial.subarray(0, this.#length));
    this.#forget();
  }

  #hold(bytes: Buffer): void {
    if (this.#isSkipping) return;
    this.#append(bytes);
    const limit = this.#limit();
    // One byte above the limit may still be the CR of the line's end.
    const isOver = this.#length > limit + 1 || (this.#length === limit + 1 && this.#partial[limit] !== CR);
    if (!isOver) return;
    this.#tooLarge(this.#partial.subarray(0, this.#length));
    this.#forget();
    this.#isSkipping = true;
  }

  #finish(rest: Buffer): void {
    if (this.#isSkipping) {
      this.#isSkipping = false;
      return;
    }
    if (this.#length === 0) {
      this.#line(rest);
      return;
    }
    if (this.#length + rest.length > this.#limit() + 1) {
      this.#append(rest.subarray(0, START_BYTES));
      this.#tooLarge(this.#partial.subarray(0, this.#length));
    } else {
      this.#append(rest);
      this.#line(this.#partial.subarray(0, this.#length));
    }
    this.#forget();
  }

  /** Copies into one buffer that doubles: a list of pieces would cost far more than its bytes when they come one by one. */
  #append(bytes: Buffer): void {
    const needed = this.#length + bytes.length;
    if (needed > this.#partial.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, this.#partial.length * 2, FIRST_CAPACITY));
      this.#partial.copy(grown, 0, 0, this.#length);
      this.#partial = grown;
    }
    bytes.copy(this.#partial, this.#length);
    this.#length = needed;
  }

  #forget(): void {
    this.#length = 0;
    if (this.#partial.length > KEPT_CAPACITY) this.#partial = Buffer.alloc(0);
  }

  #line(bytes: Buffer): void {
    let line = bytes;
    if (line.at(-1) === CR) line = line.subarray(0, -1);
    if (line.length > this.#limit()) {
      this.#tooLarge(line);
      return;
    }
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    if (isFirst && line.subarray(0, 3).equals(BYTE_ORDER_MARK)) line = line.subarray(3);
    if (isBlank(line)) return;
    if (isUtf8(line)) this.#take(line.toString('utf8'), line.length);
    else this.#take({ bad: 'encoding', start: startOf(line), limit: this.#limit() }, START_BYTES);
  }

  #tooLarge(line: Buffer): void {
    this.#isFirst = false;
    this.#take({ bad: 'tooLarge', start: startOf(line), limit: this.#limit() }, START_BYTES);
  }
}

function isBlank(line: Buffer): boolean {
  for (const byte of line) if (byte !== SPACE && byte !== TAB && byte !== CR) return false;
  return true;
}

/** The first bytes as text; a character cut at the end is left out, one broken inside becomes U+FFFD. */
function startOf(line: Buffer): string {
  return new TextDecoder().decode(line.subarray(0, START_BYTES), { stream: true });
}

function isWholeJson(line: Buffer): boolean {
  if (!isUtf8(line)) return false;
  try {
    JSON.parse(new TextDecoder().decode(line));
    return true;
  } catch {
    return false;
  }
}
