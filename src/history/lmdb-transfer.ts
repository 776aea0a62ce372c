// Rows of an LMDB environment on their way to other keys, as the bytes that the database has.

import { bufferToKeyValue, keyValueToBuffer, type RootDatabase } from 'lmdb';
import { hasChecksum, SUM_LENGTH, writeChecksum } from './checksum.ts';
import { beyond, type Key, type KeyRange } from './keys.ts';
import { type Batch, breathe, type Transfer } from './rows.ts';

/** What one batch takes: more rows hold up other commits, fewer make the wait for the disk weigh more. */
const BATCH_ROWS = 3000;
const BATCH_BYTES = 1.5 * 1024 * 1024;
/** Read before others have their turn. */
const STEP_ROWS = 250;
/** Of a buffer at first: the last row goes beyond what a batch takes. */
const BUFFER_BYTES = 2 * BATCH_BYTES;
/** Views of values up to this size are made once. */
const USUAL_BYTES = 4096;

/** A key that writes itself; gives where it ends. */
interface WrittenKey {
  writeTo(target: Uint8Array, start: number): number;
}

/** What the database takes a value from: with `start` and `end` it need not be made a view of. */
type Slice = Buffer & { start?: number; end?: number };

interface WrittenValue {
  slice(): Slice;
}

interface Range {
  readonly start: WrittenKey;
  readonly end: WrittenKey;
  readonly limit: number;
}

/** What is used of a database whose keys and values are these. */
interface Bytes {
  getRange(range: Range): Iterable<unknown>;
  put(key: WrittenKey, value: WrittenValue): unknown;
}

/** The same database with keys and values that nobody decodes. */
export class ByteRows {
  readonly #rows: Bytes;
  readonly #views = new Views();
  #reading: Reading | undefined;

  constructor(root: RootDatabase<string, (string | number)[]>) {
    const options = {
      name: null,
      encoding: 'binary',
      encoder: {
        encode: (value: WrittenValue) => value.slice(),
        // The next row overwrites what it is called with.
        decode: (value: Buffer, size: number) => this.#reading?.takeValue(value, size),
      },
      keyEncoder: {
        writeKey: (key: WrittenKey, target: Buffer, start: number) => key.writeTo(target, start),
        readKey: (source: Buffer, start: number, end: number) => this.#reading?.takeKey(source, start, end),
        // Encoders without it are not asked.
        enableNullTermination: () => {},
      },
    };
    this.#rows = root.openDB(options as unknown as { name: string }) as unknown as Bytes;
  }

  transfer(from: Key, to: Key): Transfer {
    const [source, target] = [prefixOf(from), prefixOf(to)];
    // One is read into while the other is written from.
    const buffers = [0, 1].map(() => new GrowingBuffer());
    return {
      read: (range) => {
        const buffer = buffers.reverse()[0] as GrowingBuffer;
        return this.#read(new Reading(this.#rows, this.#views, source, target, buffer), range);
      },
    };
  }

  async #read(reading: Reading, whole: KeyRange): Promise<Batch> {
    let rest = whole;
    for (;;) {
      const before = reading.length;
      this.#step(reading, rest);
      const isAtEnd = reading.length < before + STEP_ROWS;
      if (isAtEnd || reading.bytes >= BATCH_BYTES || reading.length >= BATCH_ROWS) return reading;
      rest = beyond(whole, reading.key(reading.length - 1), false);
      await breathe();
    }
  }

  #step(reading: Reading, { from, to }: KeyRange): void {
    this.#reading = reading;
    try {
      for (const _ of this.#rows.getRange({ start: written(from), end: written(to), limit: STEP_ROWS })) {
        if (!reading.isInOrder) throw new Error('its keys are out of order');
        if (reading.bytes >= BATCH_BYTES) break;
      }
    } finally {
      this.#reading = undefined;
    }
  }
}

class Reading implements Batch, WrittenKey, WrittenValue {
  readonly #rows: Bytes;
  readonly #views: Views;
  readonly #from: Buffer;
  readonly #to: Buffer;
  readonly #buffer: GrowingBuffer;
  /** Where the key of each row begins, and its value behind it, which ends where the next key begins. */
  readonly #starts: number[] = [];
  #end = 0;
  #current = 0;
  isDamaged = false;
  isInOrder = true;

  constructor(rows: Bytes, views: Views, from: Buffer, to: Buffer, buffer: GrowingBuffer) {
    this.#rows = rows;
    this.#views = views;
    this.#from = from;
    this.#to = to;
    this.#buffer = buffer;
  }

  get length(): number {
    return this.#starts.length / 2;
  }

  get bytes(): number {
    return this.#end;
  }

  key(index: number): Key {
    const rest = this.#buffer.bytes.subarray(this.#keyStart(index) + this.#to.length, this.#valueStart(index));
    return bufferToKeyValue(Buffer.concat([this.#from, rest])) as unknown as Key;
  }

  text(index: number): Buffer {
    return this.#buffer.bytes.subarray(this.#valueStart(index) + SUM_LENGTH, this.#keyStart(index + 1));
  }

  changed(index: number): void {
    writeChecksum(this.#buffer.bytes, this.#valueStart(index), this.text(index));
  }

  put(index: number): void {
    this.#current = index;
    this.#rows.put(this, this);
  }

  writeTo(target: Uint8Array, start: number): number {
    const [from, end] = [this.#keyStart(this.#current), this.#valueStart(this.#current)];
    copy(this.#buffer.bytes, from, end, target, start);
    return start + end - from;
  }

  slice(): Slice {
    const { bytes } = this.#buffer;
    bytes.start = this.#valueStart(this.#current);
    bytes.end = this.#keyStart(this.#current + 1);
    return bytes;
  }

  takeKey(source: Buffer, start: number, end: number): void {
    const rest = start + this.#from.length;
    const key = this.#end;
    const bytes = this.#buffer.withRoom(key, this.#to.length + end - rest);
    bytes.set(this.#to, key);
    copy(source, rest, end, bytes, key + this.#to.length);
    this.#end += this.#to.length + end - rest;
    const { length } = this;
    if (!isBeginning(this.#from, source, start)) this.isInOrder = false;
    if (length > 0 && !isBefore(bytes, this.#keyStart(length - 1), this.#valueStart(length - 1), key, this.#end))
      this.isInOrder = false;
    this.#starts.push(key, this.#end);
  }

  takeValue(source: Buffer, size: number): void {
    const value = this.#views.of(source, 0, size);
    this.#buffer.withRoom(this.#end, size).set(value, this.#end);
    this.#end += size;
    if (size < SUM_LENGTH || !hasChecksum(value, this.#views.of(source, SUM_LENGTH, size))) this.isDamaged = true;
  }

  #keyStart(index: number): number {
    return this.#starts[2 * index] ?? this.#end;
  }

  #valueStart(index: number): number {
    return this.#starts[2 * index + 1] as number;
  }
}

class GrowingBuffer {
  bytes: Slice = Buffer.allocUnsafeSlow(BUFFER_BYTES);

  /** With room for so much behind what is `used`. */
  withRoom(used: number, size: number): Slice {
    if (used + size > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (used + size));
      larger.set(this.bytes.subarray(0, used));
      this.bytes = larger;
    }
    return this.bytes;
  }
}

/** Beginnings of the buffer that the database gives all values in. To make a view costs as much as to copy a row. */
class Views {
  #source: Buffer | undefined;
  #views: Uint8Array[] = [];

  of(source: Buffer, start: 0 | typeof SUM_LENGTH, end: number): Uint8Array {
    if (end > USUAL_BYTES) return new Uint8Array(source.buffer, source.byteOffset + start, end - start);
    if (source !== this.#source) {
      this.#source = source;
      this.#views = [];
    }
    const place = start === 0 ? end : USUAL_BYTES + 1 + end;
    const view = this.#views[place] ?? new Uint8Array(source.buffer, source.byteOffset + start, end - start);
    this.#views[place] = view;
    return view;
  }
}

const bytesOf = (key: Key): Buffer => keyValueToBuffer(key as (string | number)[]);

/** What the bytes of all keys below this one begin with: elements are parted by a zero. */
const prefixOf = (key: Key): Buffer => Buffer.concat([bytesOf(key), Buffer.of(0)]);

function written(key: Key): WrittenKey {
  const bytes = bytesOf(key);
  return {
    writeTo(target, start) {
      target.set(bytes, start);
      return start + bytes.length;
    },
  };
}

/** Keys are short: a call would cost more. */
function copy(source: Uint8Array, start: number, end: number, target: Uint8Array, to: number): void {
  for (let index = start; index < end; index += 1) target[to + index - start] = source[index] as number;
}

function isBeginning(prefix: Uint8Array, source: Uint8Array, start: number): boolean {
  for (let index = 0; index < prefix.length; index += 1) if (prefix[index] !== source[start + index]) return false;
  return true;
}

function isBefore(bytes: Uint8Array, start: number, end: number, other: number, otherEnd: number): boolean {
  const common = Math.min(end - start, otherEnd - other);
  for (let index = 0; index < common; index += 1) {
    const [left, right] = [bytes[start + index] as number, bytes[other + index] as number];
    if (left !== right) return left < right;
  }
  return end - start < otherEnd - other;
}
