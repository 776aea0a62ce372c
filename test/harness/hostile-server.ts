// A server of the protocol written by hand, byte for byte, for clients that must bear anything.

import { PassThrough } from 'node:stream';
import type { Dial, Line } from '../../src/client/dial.ts';
import { connectWith, type Heddle } from '../../src/client/heddle.ts';
import type { ClientSettings } from '../../src/client/options.ts';
import { Subscription } from '../../src/client/subscription.ts';
import { lineConnection } from '../../src/transports/streams.ts';

export interface Frame {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

export const SERVER = {
  userAgent: 'x/0.171.0 ',
  codexHome: '/data',
  platformFamily: 'unix',
  platformOs: 'linux',
  server: {
    name: 'heddle',
    version: '1',
    limits: {
      frameBytesBeforeInitialize: 1,
      frameBytes: 1,
      requestsInFlight: 1,
      requestBytesInFlight: 1,
      outboxBytes: 1,
    },
    features: [],
  },
};

/** The server's end of one connection. */
export class FakeLine {
  readonly toClient = new PassThrough();
  readonly fromClient = new PassThrough();
  readonly #frames = new Subscription<Frame>(() => {});
  #rest = '';

  constructor() {
    this.fromClient.setEncoding('utf8').on('data', (text: string) => {
      const lines = `${this.#rest}${text}`.split('\n');
      this.#rest = lines.pop()!;
      for (const line of lines) this.#frames.push(JSON.parse(line) as Frame);
    });
    this.fromClient.on('end', () => this.#frames.end());
    this.fromClient.on('error', () => this.#frames.end());
  }

  /** What the client sends next; throws when it has finished. */
  async next(): Promise<Frame> {
    const { value, done } = await this.#frames.next();
    if (done) throw new Error('the client has finished');
    return value;
  }

  /** The next request of this method; nothing else may come before it. */
  async asked(method: string): Promise<Frame & { readonly id: number; readonly params: Record<string, unknown> }> {
    const frame = await this.next();
    if (frame.method !== method) throw new Error(`expected ${method}, got ${JSON.stringify(frame)}`);
    return frame as Frame & { readonly id: number; readonly params: Record<string, unknown> };
  }

  /** Every frame until the client has finished. */
  async rest(): Promise<Frame[]> {
    const frames: Frame[] = [];
    for await (const frame of this.#frames) frames.push(frame);
    return frames;
  }

  raw(text: string | Buffer): void {
    this.toClient.write(text);
  }

  say(...messages: readonly object[]): void {
    for (const message of messages) this.raw(`${JSON.stringify(message)}\n`);
  }

  cut(): void {
    this.toClient.end();
  }

  async shakeHands(): Promise<this> {
    this.say({ id: (await this.asked('initialize')).id, result: SERVER });
    await this.asked('initialized');
    return this;
  }
}

export class HostileServer {
  readonly #lines = new Subscription<FakeLine>(() => {});
  dials = 0;

  readonly dial: Dial = async () => {
    this.dials += 1;
    const line = new FakeLine();
    this.#lines.push(line);
    const connection = lineConnection('child', { readable: line.toClient, writable: line.fromClient });
    return { connection } satisfies Line;
  };

  /** The next connection, before the handshake. */
  async line(): Promise<FakeLine> {
    return (await this.#lines.next()).value as FakeLine;
  }

  async ready(): Promise<FakeLine> {
    return (await this.line()).shakeHands();
  }
}

const clients: Heddle[] = [];

export async function clientOf(
  server: HostileServer,
  settings: Partial<ClientSettings> = {},
): Promise<{ client: Heddle; line: FakeLine }> {
  const reconnect = { firstMs: 1, longestMs: 2, maxAttempts: 3 };
  const connecting = connectWith(() => server.dial, {
    name: 'test',
    version: '1',
    drainMs: 20,
    reconnect,
    ...settings,
  });
  const line = await server.ready();
  const client = await connecting;
  clients.push(client);
  return { client, line };
}

/** Call it after each test. */
export async function closeClients(): Promise<void> {
  await Promise.all(clients.splice(0).map((client) => client.close()));
}
