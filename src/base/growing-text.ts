// A text that comes in many small pieces: most of it is kept as long strings, which cost a fraction of what the pieces do.

/** Pieces that are joined into one string: so few that they are mostly joined before the collector has moved them among the old. */
const MAX_PIECES = 32;

export class GrowingText {
  readonly #joined: string[] = [];
  #pieces: string[] = [];

  add(parts: readonly string[]): void {
    for (const part of parts) this.#pieces.push(part);
    if (this.#pieces.length < MAX_PIECES) return;
    this.#joined.push(this.#pieces.join(''));
    this.#pieces = [];
  }

  toString(): string {
    return this.#joined.join('') + this.#pieces.join('');
  }
}
