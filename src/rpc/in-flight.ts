// What one side has been asked and has not answered yet, held below a limit.

export interface InFlightLimit {
  readonly count: number;
  /** Bytes beyond the largest one. */
  readonly bytes: number;
}

export class InFlight {
  readonly #limit: InFlightLimit;
  #count = 0;
  #bytes = 0;
  #largest = 0;

  constructor(limit: InFlightLimit) {
    this.#limit = limit;
  }

  get count(): number {
    return this.#count;
  }

  /** A single one is always admitted, however large. */
  hasRoom(bytes: number): boolean {
    if (this.#count === 0) return true;
    const beyondLargest = this.#bytes + bytes - Math.max(this.#largest, bytes);
    return this.#count < this.#limit.count && beyondLargest <= this.#limit.bytes;
  }

  add(bytes: number): void {
    this.#count += 1;
    this.#bytes += bytes;
    this.#largest = Math.max(this.#largest, bytes);
  }

  remove(bytes: number): void {
    this.#count -= 1;
    this.#bytes -= bytes;
    if (this.#count === 0) this.#largest = 0;
  }
}
