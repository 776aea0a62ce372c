// A queue with one reader: what has been pushed and not taken waits; after the end the rest is still read.

export class Subscription<T> implements AsyncIterableIterator<T> {
  readonly #waiting: T[] = [];
  readonly #left: () => void;
  #wake: (() => void) | undefined;
  #isOver = false;

  /** `left` runs when the reader stops reading. */
  constructor(left: () => void) {
    this.#left = left;
  }

  push(value: T): void {
    if (this.#isOver) return;
    this.#waiting.push(value);
    this.#wake?.();
  }

  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<T>> {
    while (this.#waiting.length === 0 && !this.#isOver)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#wake = undefined;
    const value = this.#waiting.shift();
    return value === undefined ? { done: true, value: undefined } : { done: false, value };
  }

  async return(): Promise<IteratorResult<T>> {
    this.#waiting.length = 0;
    this.end();
    this.#left();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
