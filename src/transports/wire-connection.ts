// The Connection that every transport shares; a transport supplies the wire and reports what arrives on it.

import { type Clock, systemClock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { deferred } from '../base/signals.ts';
import {
  type BadFrame,
  type CloseReason,
  type Connection,
  FRAME_LIMIT_BEFORE_INITIALIZE,
  type Origin,
} from './connection.ts';
import { type Flow, Inbox } from './inbox.ts';
import { Outgoing, STALL_MS, type WriteBatch } from './outgoing.ts';

/** How long a closing connection may flush and say goodbye. */
export const CLOSE_MS = 2_000;

export interface Wire extends Flow {
  readonly write: WriteBatch;
  /** Begins to end the wire politely; `gone` is reported when it has ended. */
  end(reason: CloseReason): void;
  /** Ends the wire now; `gone` is reported. */
  destroy(): void;
}

export interface ConnectionOptions {
  readonly clock?: Clock;
  /** Largest frame accepted at first, in bytes. */
  readonly frameLimit?: number;
  /** The connection is closed as *silent* if no frame has come by then; undefined: it may stay silent. */
  readonly firstFrameMs?: number | undefined;
}

export class WireConnection implements Connection {
  readonly origin: Origin;
  readonly #wire: Wire;
  readonly #clock: Clock;
  readonly #inbox: Inbox;
  readonly #outgoing: Outgoing;
  readonly #closed = deferred<CloseReason>();
  #frameLimit: number;
  #reason: CloseReason | undefined;
  #closing: Promise<void> | undefined;
  #isGone = false;
  #stopWaiting: (() => void) | undefined;

  constructor(origin: Origin, wire: Wire, options: ConnectionOptions = {}) {
    this.origin = origin;
    this.#wire = wire;
    this.#clock = options.clock ?? systemClock;
    this.#frameLimit = options.frameLimit ?? FRAME_LIMIT_BEFORE_INITIALIZE;
    this.#inbox = new Inbox(wire);
    this.#outgoing = new Outgoing(wire.write, this.#clock, () => {
      void this.close({ kind: 'slowConsumer', text: `nothing was read for ${STALL_MS / 1000} s` });
    });
    const { firstFrameMs } = options;
    if (firstFrameMs !== undefined)
      this.#stopWaiting = this.#clock.timer(firstFrameMs, () => {
        void this.close({ kind: 'silent', text: 'no message came in time' });
      });
  }

  get frames(): AsyncIterable<string | BadFrame> {
    return this.#inbox;
  }

  get closed(): Promise<CloseReason> {
    return this.#closed.promise;
  }

  get pending(): number {
    return this.#outgoing.pending;
  }

  get frameLimit(): number {
    return this.#frameLimit;
  }

  /** True while the reader is behind and the wire is not read. */
  get isPaused(): boolean {
    return this.#inbox.isPaused;
  }

  send(frames: readonly (string | Buffer)[]): void {
    if (!this.#closing) this.#outgoing.send(frames);
  }

  drained(below: number): Promise<void> {
    return this.#outgoing.drained(below);
  }

  limitFrames(bytes: number): void {
    this.#frameLimit = bytes;
  }

  close(reason: CloseReason = { kind: 'shutdown', text: 'the connection is closed by this side' }): Promise<void> {
    this.#closing ??= this.#close(reason);
    return this.#closing;
  }

  /** From the wire: a frame has arrived. */
  receive(frame: string | BadFrame, bytes: number): void {
    this.#heard();
    this.#inbox.push(frame, bytes);
  }

  /** From the wire: the other side will send no more, but may still read. */
  inputEnded(): void {
    this.#heard();
    this.#inbox.end();
  }

  /** From the wire: it is no more. The first reason given for the end is the one that is told. */
  gone(reason: CloseReason): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#heard();
    this.#reason ??= reason;
    this.#inbox.end(
      this.#reason.kind === 'broken'
        ? new AppError('unavailable', `the connection broke: ${this.#reason.text}`)
        : undefined,
    );
    this.#outgoing.discard();
    this.#closing ??= Promise.resolve();
    this.#closed.resolve(this.#reason);
  }

  #heard(): void {
    this.#stopWaiting?.();
    this.#stopWaiting = undefined;
  }

  async #close(reason: CloseReason): Promise<void> {
    this.#reason = reason;
    this.#heard();
    this.#inbox.drop();
    // A reader that is paused must still see the other side's answer to the close.
    this.#wire.resume();
    const stopDeadline = this.#clock.timer(CLOSE_MS, () => this.#wire.destroy());
    if (reason.kind === 'slowConsumer') this.#outgoing.discard();
    await this.#outgoing.drained(0);
    if (!this.#isGone) this.#wire.end(reason);
    await this.#closed.promise;
    stopDeadline();
  }
}
