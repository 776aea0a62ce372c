// The other side of a connection under test: a WebSocket, or a second Connection.

import { WebSocket } from 'ws';
import { deferred } from '../../src/base/signals.ts';
import type { Connection } from '../../src/transports/connection.ts';

/** The other side, as plainly as the wire allows. */
export interface Client {
  send(text: string): void;
  /** Frames that have arrived, as text. */
  received(count: number): Promise<readonly string[]>;
  /** Stops and continues reading from the wire. */
  pause(): void;
  resume(): void;
  end(): void;
  /** Lets go of the wire at once. */
  destroy(): Promise<void> | void;
  /** The WebSocket close code, if the wire has one. */
  readonly ended: Promise<number | undefined>;
}

class Arrivals {
  readonly #frames: string[] = [];
  #waiting: { count: number; done: (frames: readonly string[]) => void } | undefined;

  add(text: string): void {
    this.#frames.push(text);
    if (this.#waiting && this.#frames.length >= this.#waiting.count) this.#waiting.done(this.#frames);
  }

  until(count: number): Promise<readonly string[]> {
    if (this.#frames.length >= count) return Promise.resolve(this.#frames);
    return new Promise((done) => {
      this.#waiting = { count, done };
    });
  }
}

export function connectionClient(other: Connection): Client {
  const arrivals = new Arrivals();
  let gate = deferred();
  gate.resolve();
  void (async () => {
    for await (const frame of other.frames) {
      await gate.promise;
      arrivals.add(frame as string);
    }
  })();
  return {
    send: (text) => other.send([text]),
    received: (count) => arrivals.until(count),
    pause: () => {
      gate = deferred();
    },
    resume: () => gate.resolve(),
    end: () => void other.close(),
    destroy: () => other.close(),
    ended: other.closed.then(() => undefined),
  };
}

export function webSocketClient(url: string): Client & { readonly opened: Promise<void> } {
  const ws = new WebSocket(url, { perMessageDeflate: false });
  const arrivals = new Arrivals();
  const ended = deferred<number | undefined>();
  const opened = deferred();
  ws.on('open', () => opened.resolve());
  ws.on('error', (error) => opened.reject(error));
  ws.on('message', (data) => arrivals.add(data.toString()));
  ws.on('close', (code) => ended.resolve(code));
  return {
    opened: opened.promise,
    send: (text) => ws.send(text),
    received: (count) => arrivals.until(count),
    pause: () => ws.pause(),
    resume: () => ws.resume(),
    end: () => ws.close(),
    destroy: () => ws.terminate(),
    ended: ended.promise,
  };
}
