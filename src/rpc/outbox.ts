// The bounded outgoing queue of one connection: what may wait, and when to stop producing.

import type { Connection } from '../transports/connection.ts';

/** Above this many bytes a subscriber stops being live, and requests are no longer started. */
export const HIGH_WATER = 4 * 1024 * 1024;
const LOW_WATER = 1024 * 1024;

export interface Outbox {
  send(frames: readonly (string | Buffer)[]): void;
  isFull(): boolean;
  /** So many bytes more would not make it full. */
  hasRoomFor(bytes: number): boolean;
  /** `hasRoom` would settle at once. */
  isNearlyEmpty(): boolean;
  /** Settles when there is room again, or the connection is closed. */
  hasRoom(): Promise<void>;
}

export function createOutbox(connection: Connection): Outbox {
  return {
    send: (frames) => connection.send(frames),
    isFull: () => connection.pending > HIGH_WATER,
    hasRoomFor: (bytes) => connection.pending + bytes <= HIGH_WATER,
    isNearlyEmpty: () => connection.pending <= LOW_WATER,
    hasRoom: () => connection.drained(LOW_WATER),
  };
}
