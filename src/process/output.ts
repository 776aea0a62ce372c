// What a command printed: head and tail within a bound, exact counts, and text that is never cut inside a character.

/** Bytes of output that are kept when nothing else is asked for. */
export const OUTPUT_CAP = 1024 * 1024;

/** Room for the marker between head and tail. */
const MARKER_ROOM = 64;

/** Text of bytes that come in pieces. */
export class TextDeltas {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  /** The text that these bytes complete; the beginning of a character waits for its end. */
  push(chunk: Uint8Array): string {
    return this.#decoder.decode(chunk, { stream: true });
  }

  /** Nothing more comes: one U+FFFD for a character that was never finished, else the empty text. */
  end(): string {
    return this.#decoder.decode();
  }
}

export class OutputCollector {
  readonly #headCap: number;
  readonly #tailCap: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  /** A ring: the newest bytes behind the head; made when the head is full. */
  #tail: Buffer | undefined;
  #tailTotal = 0;

  /** Keeps at most `cap` bytes, the marker included, and never less than a few characters at either end. */
  constructor(cap: number = OUTPUT_CAP) {
    const room = Math.max(cap - MARKER_ROOM, 16);
    this.#headCap = Math.ceil(room / 2);
    this.#tailCap = room - this.#headCap;
  }

  push(chunk: Buffer): void {
    const fits = Math.min(chunk.length, this.#headCap - this.#headBytes);
    if (fits > 0) {
      this.#head.push(chunk.subarray(0, fits));
      this.#headBytes += fits;
    }
    if (fits < chunk.length) this.#keepTail(chunk.subarray(fits));
  }

  /** All bytes that came. */
  get totalBytes(): number {
    return this.#headBytes + this.#tailTotal;
  }

  /** Bytes that were let go between head and tail. */
  get droppedBytes(): number {
    return Math.max(0, this.#tailTotal - this.#tailCap);
  }

  get isCapped(): boolean {
    return this.droppedBytes > 0;
  }

  /** What is kept, as text; with a marker that says how many bytes are missing when it was capped. */
  text(): string {
    const head = Buffer.concat(this.#head, this.#headBytes);
    if (!this.isCapped) return decode(Buffer.concat([head, this.#tailBytes()]));
    const from = whole(head);
    const to = startingWhole(this.#tailBytes());
    const missing = this.totalBytes - from.length - to.length;
    return `${decode(from)}\n[${missing} bytes left out]\n${decode(to)}`;
  }

  #keepTail(bytes: Buffer): void {
    this.#tail ??= Buffer.allocUnsafe(this.#tailCap);
    const kept = bytes.subarray(Math.max(0, bytes.length - this.#tailCap));
    const at = (this.#tailTotal + bytes.length - kept.length) % this.#tailCap;
    const first = kept.copy(this.#tail, at);
    kept.copy(this.#tail, 0, first);
    this.#tailTotal += bytes.length;
  }

  #tailBytes(): Buffer {
    if (!this.#tail) return Buffer.alloc(0);
    if (this.#tailTotal <= this.#tailCap) return this.#tail.subarray(0, this.#tailTotal);
    const at = this.#tailTotal % this.#tailCap;
    return Buffer.concat([this.#tail.subarray(at), this.#tail.subarray(0, at)]);
  }
}

function decode(bytes: Buffer): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

/** Without a character at the end that was cut off. */
function whole(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] as number;
    if (byte < 0x80) return bytes;
    if (byte >= 0xc0) return back < lengthOf(byte) ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

/** Without the rest of a character whose beginning was let go. */
function startingWhole(bytes: Buffer): Buffer {
  let start = 0;
  while (start < Math.min(3, bytes.length) && ((bytes[start] as number) & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start);
}

function lengthOf(lead: number): number {
  if (lead >= 0xf0) return 4;
  return lead >= 0xe0 ? 3 : 2;
}
