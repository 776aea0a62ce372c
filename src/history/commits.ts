// Transactions, one commit at a time: who comes before its transactions begin shares a commit, who comes later waits for its end.

/** Runs `work` in a transaction of its own; what is started in one turn of the event loop shares a commit. */
type Start = <T>(work: () => T) => Promise<T>;

/**
 * The database would take more while a commit is under way. But what it begins after a commit that ruined it holds its lock for
 * ever, and the process with it; so nothing is begun before the last commit is known to have ended well.
 */
export class Commits {
  readonly #start: Start;
  readonly #refused: (error: unknown) => Promise<unknown>;
  #waiting: (() => void)[] = [];
  #parts: (() => void)[] = [];
  /** Parts have let others go first. */
  #haveYielded = false;
  #underWay = 0;
  #hasBegun = false;
  #idle: (() => void)[] = [];

  /** `refused` says what a failed transaction rejects with; nothing is begun before it has settled. */
  constructor(start: Start, refused: (error: unknown) => Promise<unknown>) {
    this.#start = start;
    this.#refused = refused;
  }

  /**
   * Runs `work` after all that was asked for before; resolves when what it wrote is on disk. What `isPart` of something long
   * shares no commit with those who waited for the part before: they are done first, once.
   */
  run<T>(work: () => T, isPart = false): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const begin = () => {
        this.#underWay += 1;
        void this.#transact(work).then(resolve, reject).finally(this.#ended);
      };
      if (!this.#hasBegun && !(isPart && this.#underWay > 0)) begin();
      else if (isPart) this.#parts.push(begin);
      else this.#waiting.push(begin);
    });
  }

  /** Settles when nothing is under way and nothing waits. */
  async settled(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async #transact<T>(work: () => T): Promise<T> {
    try {
      return await this.#start(() => {
        this.#hasBegun = true;
        return work();
      });
    } catch (error) {
      throw await this.#refused(error);
    }
  }

  readonly #ended = (): void => {
    this.#underWay -= 1;
    if (this.#underWay > 0) return;
    this.#hasBegun = false;
    this.#haveYielded = this.#parts.length > 0 && this.#waiting.length > 0 && !this.#haveYielded;
    const next = this.#haveYielded ? this.#waiting : [...this.#parts, ...this.#waiting];
    if (!this.#haveYielded) this.#parts = [];
    this.#waiting = [];
    for (const begin of next) begin();
    if (this.#underWay > 0) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  };
}
