// What every transport gives: an ordered stream of text frames each way, and nothing about what they say.

import type { Principal } from '../auth/principal.ts';
import type { Closable } from '../base/close.ts';

export type Origin = 'stdio' | 'unix' | 'websocket' | 'child' | 'memory';

export interface CloseReason {
  readonly kind:
    | 'ended' // the other side finished
    | 'broken' // the wire broke
    | 'shutdown' // this process stops
    | 'slowConsumer' // nothing was taken from the wire for too long
    | 'tooLarge' // a frame above the limit that cannot be skipped
    | 'expired' // the token's life is over
    | 'silent' // no initialize, or no answer to pings
    | 'protocol';
  /** For people; carries no secret. */
  readonly text: string;
}

/** A frame that could not be read as text within the limits; the stream goes on after it. */
export interface BadFrame {
  readonly bad: 'tooLarge' | 'encoding';
  /** The first bytes as text, so that a request id near the start can be answered. */
  readonly start: string;
  /** The limit in bytes that was in force. */
  readonly limit: number;
}

export interface Connection {
  readonly origin: Origin;
  /** Ends when the other side has finished sending; throws only on a broken wire. One reader. */
  readonly frames: AsyncIterable<string | BadFrame>;
  /**
   * Queues frames for the wire, in order, and returns at once; frames after the close are dropped.
   * A Buffer is one frame of UTF-8 text encoded by the caller.
   */
  send(frames: readonly (string | Buffer)[]): void;
  /** Bytes handed to `send` that the wire has not taken yet. */
  readonly pending: number;
  /** Settles when `pending` has fallen to `below` bytes or the connection is closed. */
  drained(below: number): Promise<void>;
  /** Changes the largest frame accepted from now on, in bytes. */
  limitFrames(bytes: number): void;
  /** Idempotent. Flushes what was sent (at most 2 s), then ends the connection. */
  close(reason?: CloseReason): Promise<void>;
  /** Never rejects. */
  readonly closed: Promise<CloseReason>;
}

/** Closing it takes no more connections and ends unfinished handshakes; accepted connections live on with whoever took them. */
export interface Listener extends Closable {
  /** The address as a client would type it, e.g. `ws://127.0.0.1:4500`. */
  readonly address: string;
  /** The file with the token that clients of this machine need, if there is one. */
  readonly tokenFile?: string;
}

export type Accept = (connection: Connection, principal: Principal) => void;

/** Starts taking connections; rejects with an AppError that says what to do instead. */
export type Listen = (accept: Accept) => Promise<Listener>;

/** Frame limits in bytes: before `initialize` has been answered, and after. */
export const FRAME_LIMIT_BEFORE_INITIALIZE = 1024 * 1024;
export const FRAME_LIMIT = 16 * 1024 * 1024;
