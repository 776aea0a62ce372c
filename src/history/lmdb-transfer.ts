// Rows of an LMDB environment on their way to other keys, as the bytes that the database has.

import { bufferToKeyValue, type Database, keyValueToBuffer, type RootDatabase } from 'lmdb';
import { hasChecksum, SUM_LENGTH, setChecksum } from './checksum.ts';
import type { Key, KeyRange } from './keys.ts';
import type { Batch, Transfer } from './rows.ts';

/** What one batch takes: more rows make a transaction long, fewer make the wait for the disk weigh more. */
const BATCH_ROWS = 4000;
const BATCH_BYTES = 1024 * 1024;
/** Behind them there is room for a key of any length. */
const LONGEST_KEY = 4096;

type Bytes = Database<void, Buffer>;

/** The same database with keys and values that nobody decodes; one read at a time takes them from its buffers. */
export class ByteRows {
  readonly #rows: Bytes;
  #reading: Reading | undefined;

  constructor(root: RootDatabase<string, (string | number)[]>) {
    const options = {
      name: null,
      encoding: 'binary',
      // Called with what is overwritten by the next row.
      encoder: {
        encode: (value: Buffer) => value,
        decode: (value: Buffer, size: number) => this.#takeValue(value, size),
      },
      keyEncoder: {
        writeKey: (key: Buffer, target: Buffer, start: number) => {
          target.set(key, start);
          return start + key.length;
        },
        readKey: (source: Buffer, start: number, end: number) => this.#reading?.takeKey(source, start, end),
        // Encoders without it are not asked.
        enableNullTermination: () => {},
      },
    };
    this.#rows = root.openDB<void, Buffer>(options as unknown as { name: string });
  }

  transfer(from: Key, to: Key): Transfer {
    const [source, target] = [prefixOf(from), prefixOf(to)];
    const buffers = [0, 1].map(() => Buffer.allocUnsafeSlow(BATCH_BYTES + 2 * LONGEST_KEY));
    return {
      read: (range) => {
        const buffer = buffers.reverse()[0] as Buffer;
        return this.#read(new Reading(this.#rows, source, target, buffer), range);
      },
    };
  }

  #read(reading: Reading, { from, to }: KeyRange): Batch {
    const range = { start: bytesOf(from), end: bytesOf(to), limit: BATCH_ROWS };
    this.#reading = reading;
    try {
      for (const _ of this.#rows.getRange(range)) {
        if (!reading.isInOrder) throw new Error('its keys are out of order');
        if (reading.bytes >= BATCH_BYTES) break;
      }
    } finally {
      this.#reading = undefined;
    }
    return reading;
  }

  #takeValue(value: Buffer, size: number): void {
    this.#reading?.takeValue(value, size);
  }
}

class Reading implements Batch {
  readonly #rows: Bytes;
  readonly #from: Buffer;
  readonly #to: Buffer;
  readonly #buffer: Buffer;
  #end = 0;
  readonly #keys: Buffer[] = [];
  readonly #values: Buffer[] = [];
  /** Of values alone. */
  bytes = 0;
  isDamaged = false;
  isInOrder = true;

  constructor(rows: Bytes, from: Buffer, to: Buffer, buffer: Buffer) {
    this.#rows = rows;
    this.#from = from;
    this.#to = to;
    this.#buffer = buffer;
  }

  get length(): number {
    return this.#values.length;
  }

  key(index: number): Key {
    const rest = (this.#keys[index] as Buffer).subarray(this.#to.length);
    return bufferToKeyValue(Buffer.concat([this.#from, rest])) as (string | number)[];
  }

  text(index: number): Buffer {
    return (this.#values[index] as Buffer).subarray(SUM_LENGTH);
  }

  put(index: number): void {
    this.#rows.put(this.#keys[index] as Buffer, this.#values[index] as unknown as undefined);
  }

  putChanged(index: number): void {
    setChecksum(this.#values[index] as Buffer);
    this.put(index);
  }

  takeKey(source: Buffer, start: number, end: number): void {
    const rest = start + this.#from.length;
    const key = this.#room(this.#to.length + end - rest);
    key.set(this.#to);
    for (let [from, to] = [rest, this.#to.length]; from < end; from += 1, to += 1) key[to] = source[from] as number;
    if (!isBeginning(this.#from, source, start) || !isBehind(key, this.#keys.at(-1))) this.isInOrder = false;
    this.#keys.push(key);
  }

  takeValue(value: Buffer, size: number): void {
    const copy = this.#room(size);
    copy.set(new Uint8Array(value.buffer, value.byteOffset, size));
    if (!hasChecksum(copy)) this.isDamaged = true;
    this.#values.push(copy);
    this.bytes += size;
  }

  /** Most rows lie in one buffer, which costs nothing to make. */
  #room(size: number): Buffer {
    if (this.#end + size > this.#buffer.length) return Buffer.allocUnsafeSlow(size);
    const start = this.#end;
    this.#end += size;
    return this.#buffer.subarray(start, this.#end);
  }
}

const bytesOf = (key: Key): Buffer => keyValueToBuffer(key as (string | number)[]);

/** What the bytes of all keys below this one begin with: elements are parted by a zero. */
const prefixOf = (key: Key): Buffer => Buffer.concat([bytesOf(key), Buffer.of(0)]);

function isBeginning(prefix: Buffer, source: Buffer, start: number): boolean {
  for (let index = 0; index < prefix.length; index += 1) if (prefix[index] !== source[start + index]) return false;
  return true;
}

const isBehind = (key: Buffer, before: Buffer | undefined): boolean =>
  before === undefined || Buffer.compare(before, key) < 0;
