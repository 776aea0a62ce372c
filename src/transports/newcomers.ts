// Sockets that have connected and not yet become a connection: each has a deadline, and all end with their listener.

import type { Duplex } from 'node:stream';
import type { Clock } from '../base/clock.ts';

/** From the first byte of the connection to the first frame: who says nothing until then is dropped. */
export const FIRST_FRAME_MS = 10_000;

export class Newcomers {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #sockets = new Map<Duplex, { readonly deadline: number; readonly stop: () => void }>();

  constructor(clock: Clock, limitMs: number = FIRST_FRAME_MS) {
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  watch(socket: Duplex): void {
    if (this.#sockets.has(socket)) return;
    const stop = this.#clock.timer(this.#limitMs, () => socket.destroy());
    this.#sockets.set(socket, { deadline: this.#clock.elapsed() + this.#limitMs, stop });
    socket.once('close', () => this.release(socket));
  }

  /** The socket is no newcomer any more; returns the milliseconds that are left of its time. */
  release(socket: Duplex): number {
    const entry = this.#sockets.get(socket);
    if (!entry) return this.#limitMs;
    entry.stop();
    this.#sockets.delete(socket);
    return Math.max(1, entry.deadline - this.#clock.elapsed());
  }

  /** Destroys all that are left. */
  close(): void {
    for (const socket of [...this.#sockets.keys()]) {
      this.release(socket);
      socket.destroy();
    }
  }
}
