// How much of what one connection reads may be in memory at once: the next large read waits until an earlier one has been sent.

import type { Context } from '../rpc/router.ts';
import type { Session } from '../rpc/session.ts';
import { type Admission, MAX_READ_BYTES } from './read-file.ts';

/** In bytes; the largest read is always admitted when nothing else is. */
const MAX_HELD = 16 * 1024 * 1024;
/** Reads up to this size are bounded by the number of requests in flight. */
const SMALL = 64 * 1024;

export class ReadGates {
  readonly #gates = new WeakMap<Session, Gate>();

  /** What a read holds is given back when its reply has been handed to the connection. */
  admission(context: Context): Admission {
    return async (bytes) => {
      if (bytes <= SMALL) return;
      const { session } = context;
      const gate = this.#gates.get(session) ?? new Gate();
      this.#gates.set(session, gate);
      const leave = await gate.enter(Math.min(bytes, MAX_READ_BYTES));
      context.afterReply(leave);
      const { outbox } = session.peer;
      if (outbox.isFull()) await outbox.hasRoom();
    };
  }
}

class Gate {
  readonly #waiting: { readonly bytes: number; readonly go: () => void }[] = [];
  #held = 0;

  enter(bytes: number): Promise<() => void> {
    const leave = () => {
      this.#held -= bytes;
      this.#advance();
    };
    return new Promise((resolve) => {
      this.#waiting.push({ bytes, go: () => resolve(leave) });
      this.#advance();
    });
  }

  #advance(): void {
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      if (this.#held > 0 && this.#held + next.bytes > MAX_HELD) return;
      this.#waiting.shift();
      this.#held += next.bytes;
      next.go();
    }
  }
}
