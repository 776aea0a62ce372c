// The commands of one thread that run: which there are, how many there may be, and that they end with their owner.

import { randomInt } from 'node:crypto';
import { type Closable, closeOnce } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import type { TurnId } from '../model/ids.ts';
import { CommandSession, type SessionParts, type SessionStart } from './session.ts';

/** Commands that run at once in a thread; also how many that have ended wait for the model to hear of it. */
const MOST = 64;

export class CommandSessions implements Closable {
  /** Those that run, and those that were left running and of whose end the model has not been told; the oldest first. */
  readonly #all = new Set<CommandSession>();
  #isClosed = false;

  /** No more can be started before one has ended. */
  get isFull(): boolean {
    return this.#running().length >= MOST;
  }

  /** A number by which no other command here is known, of five digits as in the reference. */
  freeNumber(): string {
    for (;;) {
      const number = String(randomInt(10_000, 100_000));
      if (!this.find(number)) return number;
    }
  }

  /** Starts a command. Throws as *unavailable* once closed. */
  begin(start: SessionStart, parts: SessionParts): CommandSession {
    if (this.#isClosed) throw new AppError('unavailable', 'no more commands are started: the thread is being closed');
    const session = new CommandSession(start, parts);
    this.#all.add(session);
    void session.settled.then(() => this.#forgetTold());
    return session;
  }

  /** Undefined: there is none of that number, or the model has been told of its end. */
  find(number: string): CommandSession | undefined {
    return [...this.#all].find((each) => each.number === number && !each.isTold);
  }

  /** Those that were left running and run still, the oldest first. */
  get left(): readonly CommandSession[] {
    return this.#running().filter(({ isLeft }) => isLeft);
  }

  /** Ends whatever was started by one of these turns, by default by any; settles when nothing of it is left. */
  async end(turnIds?: readonly TurnId[]): Promise<void> {
    const these = [...this.#all].filter(({ turnId }) => turnIds?.includes(turnId) ?? true);
    await Promise.all(these.map((session) => session.end()));
  }

  /** Ends everything; what belongs to it is with the log when this settles. */
  readonly close = closeOnce(async () => {
    this.#isClosed = true;
    await this.end();
  });

  #running(): CommandSession[] {
    return [...this.#all].filter(({ isRunning }) => isRunning);
  }

  #forgetTold(): void {
    const over = [...this.#all].filter(({ isRunning }) => !isRunning);
    const kept = over.filter(({ isLeft, isTold }) => isLeft && !isTold).slice(-MOST);
    for (const session of over) if (!kept.includes(session)) this.#all.delete(session);
  }
}
