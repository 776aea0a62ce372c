// Looks at paths that have changed: one at a time for a path, a few at once in all, and no more waiting than a bound.

/** How many are under way at once. */
const AT_ONCE = 16;
/** How many paths may wait. */
export const MAX_WAITING_LOOKS = 4_096;

export interface LooksParts {
  readonly look: (path: string) => Promise<void>;
  /** More would wait than may; those that waited are forgotten. */
  readonly tooMany: () => void;
}

export class Looks {
  readonly #parts: LooksParts;
  readonly #waiting = new Set<string>();
  readonly #underWay = new Set<string>();
  #isClosed = false;

  constructor(parts: LooksParts) {
    this.#parts = parts;
  }

  /** The path is looked at soon; however often it is named during a look, it is looked at once more after it. */
  add(path: string): void {
    if (this.#isClosed) return;
    this.#waiting.add(path);
    if (this.#waiting.size > MAX_WAITING_LOOKS) {
      this.#waiting.clear();
      this.#parts.tooMany();
    } else this.#begin();
  }

  /** Begins no more; what is under way comes to its end. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
  }

  #begin(): void {
    for (const path of this.#waiting) {
      if (this.#underWay.size >= AT_ONCE) return;
      if (this.#underWay.has(path)) continue;
      this.#waiting.delete(path);
      this.#underWay.add(path);
      void this.#run(path);
    }
  }

  async #run(path: string): Promise<void> {
    try {
      await this.#parts.look(path);
    } catch {
      // gone again, or not for us
    } finally {
      this.#underWay.delete(path);
      this.#begin();
    }
  }
}
