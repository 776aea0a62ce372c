// What has changed and was not told yet: gathered for a moment, told once, bounded.

import type { Clock } from '../base/clock.ts';

/** Changes that come so close together are told together. */
export const GATHER_MS = 200;
/** Beyond so many paths it is told that everything has to be looked at. */
export const MAX_PATHS = 1_000;

export interface ChangesParts {
  readonly clock: Clock;
  /** Settles when whoever is told can take more. */
  readonly hasRoom: () => Promise<void>;
  /** `rescan`: some changes are not among the paths. */
  readonly tell: (paths: readonly string[], rescan: boolean) => void;
}

export class Changes {
  readonly #parts: ChangesParts;
  readonly #paths = new Set<string>();
  #isRescan = false;
  #isDue = false;
  #isClosed = false;
  #stopTimer = () => {};

  constructor(parts: ChangesParts) {
    this.#parts = parts;
  }

  add(path: string): void {
    if (this.#isRescan) return;
    this.#paths.add(path);
    if (this.#paths.size > MAX_PATHS) this.rescan();
    else this.#schedule();
  }

  /** Something may have been missed. */
  rescan(): void {
    this.#isRescan = true;
    this.#paths.clear();
    this.#schedule();
  }

  /** Tells nothing any more. */
  close(): void {
    this.#isClosed = true;
    this.#stopTimer();
  }

  #schedule(): void {
    if (this.#isDue || this.#isClosed) return;
    this.#isDue = true;
    this.#stopTimer = this.#parts.clock.timer(GATHER_MS, () => void this.#flush());
  }

  async #flush(): Promise<void> {
    await this.#parts.hasRoom();
    if (this.#isClosed) return;
    const [paths, isRescan] = [[...this.#paths].sort(), this.#isRescan];
    this.#paths.clear();
    this.#isRescan = false;
    this.#isDue = false;
    this.#parts.tell(paths, isRescan);
  }
}
