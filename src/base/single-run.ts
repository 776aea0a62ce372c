// Work that is asked for often and done by one run at a time, for nobody in particular.

/** Asked for during a run, the work is done once more after it: what came too late for that run is not left out. */
export class SingleRun {
  readonly #work: () => Promise<void>;
  readonly #failed: (error: unknown) => void;
  #current: Promise<void> | undefined;
  #isWanted = false;

  /** `failed` is told why a run failed, and must not throw. */
  constructor(work: () => Promise<void>, failed: (error: unknown) => void) {
    this.#work = work;
    this.#failed = failed;
  }

  get isRunning(): boolean {
    return this.#current !== undefined;
  }

  /** Resolves when a run that began with this call or later has ended, well or not, and none is wanted any more. Never rejects. */
  run(): Promise<void> {
    this.#isWanted = true;
    this.#current ??= this.#runWhileWanted();
    return this.#current;
  }

  /** Resolves when no run goes on. */
  async settled(): Promise<void> {
    await this.#current;
  }

  async #runWhileWanted(): Promise<void> {
    while (this.#isWanted) {
      this.#isWanted = false;
      try {
        await this.#work();
      } catch (error) {
        this.#failed(error);
      }
    }
    this.#current = undefined; // in the same step as the last look at what is wanted
  }
}
