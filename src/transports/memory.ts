// Two Connections linked in memory, for tests and for clients in the same process.

import { type CloseReason, type Connection, FRAME_LIMIT } from './connection.ts';
import type { WriteBatch } from './outgoing.ts';
import { type ConnectionOptions, type Wire, WireConnection } from './wire-connection.ts';

/** How much of a frame that is too large is shown to the reader, in bytes. */
const START_BYTES = 4096;

/** What one end sends, the other receives; when one closes, the other has *ended*. A slow reader holds the sender's frames back. */
export function memoryPair(options: ConnectionOptions = {}): readonly [Connection, Connection] {
  const [a, b] = [new MemoryWire(), new MemoryWire()];
  const settings = { frameLimit: FRAME_LIMIT, ...options };
  a.own = new WireConnection('memory', a, settings);
  b.own = new WireConnection('memory', b, settings);
  a.other = b;
  b.other = a;
  return [a.own, b.own];
}

class MemoryWire implements Wire {
  own!: WireConnection;
  other!: MemoryWire;
  #isPaused = false;
  #held: (() => void) | undefined;

  readonly write: WriteBatch = (batch, _progress, taken) => {
    for (const frame of batch) this.other.#deliver(frame);
    // Taken means taken by the reader, as on a wire that is full.
    if (this.other.#isPaused) this.other.#held = taken;
    else process.nextTick(taken);
  };

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    const held = this.#held;
    this.#held = undefined;
    if (held) process.nextTick(held);
  }

  end(reason: CloseReason): void {
    this.own.gone(reason);
    this.other.own.gone({ kind: 'ended', text: reason.text });
  }

  destroy(): void {
    this.end({ kind: 'broken', text: 'the other side did not read what was left' });
  }

  #deliver(frame: Buffer): void {
    const limit = this.own.frameLimit;
    if (frame.length <= limit) this.own.receive(frame.toString('utf8'), frame.length);
    else {
      const start = new TextDecoder().decode(frame.subarray(0, START_BYTES), { stream: true });
      this.own.receive({ bad: 'tooLarge', start, limit }, START_BYTES);
    }
  }
}
