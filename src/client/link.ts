// One lasting link over many connections: dials, shakes hands, and does so again when the connection has ended.

import { type Clock, sleep } from '../base/clock.ts';
import { closeOnce } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import { type Deferred, deferred, unlessAborted } from '../base/signals.ts';
import { Client, type ClientOptions } from './client.ts';
import type { Dial, DialHooks, Line } from './dial.ts';
import { asAppError, isFinal } from './errors.ts';
import { type Pauses, pauseBefore } from './timing.ts';

export type LinkState = 'connecting' | 'ready' | 'reconnecting' | 'closed';

export interface ReconnectOptions extends Pauses {
  /** In a row, without a connection that held. */
  readonly maxAttempts: number;
}

export interface LinkParts {
  readonly dial: Dial;
  readonly introduction: ClientOptions;
  /** False: the first end is the last. */
  readonly reconnect: ReconnectOptions | false;
  /** For dialling and the handshake, in milliseconds. */
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
  readonly stderr: DialHooks['stderr'];
  /** Before anybody may use a connection that stands for one that has ended. */
  readonly restore: (client: Client, signal: AbortSignal) => Promise<void>;
  readonly changed: (state: LinkState, error?: AppError) => void;
}

/** A connection that lived so long has held, in milliseconds. */
const HELD_MS = 5_000;

interface Live {
  readonly client: Client;
  readonly line: Line;
}

export class Link {
  readonly #parts: LinkParts;
  readonly #closing = new AbortController();
  #state: LinkState = 'connecting';
  #ready: Deferred<Client> = quiet();
  #live: Live | undefined;
  #failures = 0;
  #restoring: Promise<void> | undefined;

  constructor(parts: LinkParts) {
    this.#parts = parts;
  }

  get state(): LinkState {
    return this.#state;
  }

  /** The first connection, tried once. */
  async open(): Promise<Client> {
    try {
      const live = await this.#dial();
      this.#take(live);
      return live.client;
    } catch (error) {
      this.#over(asAppError(error));
      throw error;
    }
  }

  /** The connection there is or will be; rejects when there will be none. */
  ready(signal: AbortSignal): Promise<Client> {
    return unlessAborted(this.#ready.promise, signal);
  }

  /** A request was answered: this connection was worth its attempt. */
  held(): void {
    this.#failures = 0;
  }

  /** Whether a request that a cut left unanswered may be sent again. */
  get comesBack(): boolean {
    return this.#parts.reconnect !== false && this.#state !== 'closed' && !this.#closing.signal.aborted;
  }

  readonly close = closeOnce(async () => {
    this.#closing.abort(new AppError('unavailable', 'the client is closed'));
    const live = this.#live;
    this.#live = undefined;
    if (live) await end(live);
    await this.#restoring;
    this.#over();
  });

  async #dial(): Promise<Live> {
    const { dial, introduction, connectTimeoutMs, clock, stderr } = this.#parts;
    const deadline = new AbortController();
    const stop = clock.timer(connectTimeoutMs, () =>
      deadline.abort(new AppError('unavailable', `no handshake within ${connectTimeoutMs} ms`)),
    );
    const signal = AbortSignal.any([deadline.signal, this.#closing.signal]);
    try {
      const dialling = dial({ stderr });
      // Too late is too late: what comes then is not kept.
      void dialling.then(
        (late) => signal.aborted && void leave(late),
        () => {},
      );
      return await this.#shakeHands(await unlessAborted(dialling, signal), introduction, signal);
    } finally {
      stop();
    }
  }

  async #shakeHands(line: Line, introduction: ClientOptions, signal: AbortSignal): Promise<Live> {
    const client = new Client(line.connection, introduction);
    try {
      await unlessAborted(client.initialize(introduction), signal);
      return { client, line };
    } catch (error) {
      await end({ client, line });
      const words = line.lastWords?.().trim() ?? '';
      const { kind, message, data } = asAppError(error);
      throw new AppError(kind, words === '' ? message : `${message}; it said: ${words}`, data, { cause: error });
    }
  }

  #take(live: Live): void {
    this.#live = live;
    this.#tell('ready');
    this.#ready.resolve(live.client);
    const startedAt = this.#parts.clock.elapsed();
    void live.client.closed.then((reason) => {
      if (this.#live !== live) return;
      this.#live = undefined;
      if (this.#parts.clock.elapsed() - startedAt >= HELD_MS) this.held();
      this.#restoring = this.#restore(live, reason.text);
    });
  }

  async #restore(lost: Live, text: string): Promise<void> {
    const { reconnect } = this.#parts;
    let error = new AppError('unavailable', `the connection is closed: ${text}`);
    if (reconnect !== false) {
      this.#ready = quiet();
      this.#tell('reconnecting', error);
    }
    await end(lost);
    while (reconnect !== false && this.#failures < reconnect.maxAttempts && !this.#closing.signal.aborted) {
      this.#failures += 1;
      try {
        await sleep(this.#parts.clock, pauseBefore(this.#failures, reconnect), this.#closing.signal);
        return this.#take(await this.#renewed());
      } catch (failure) {
        error = asAppError(failure);
        if (isFinal(failure)) break;
      }
    }
    this.#over(error);
  }

  async #renewed(): Promise<Live> {
    const live = await this.#dial();
    try {
      await this.#parts.restore(live.client, this.#closing.signal);
      return live;
    } catch (error) {
      await end(live);
      throw error;
    }
  }

  #over(error?: AppError): void {
    if (this.#state === 'closed') return;
    const reason = error ?? new AppError('unavailable', 'the client is closed');
    this.#ready.reject(reason);
    this.#ready = quiet();
    this.#ready.reject(reason);
    this.#tell('closed', this.#closing.signal.aborted ? undefined : reason);
  }

  #tell(state: LinkState, error?: AppError): void {
    this.#state = state;
    this.#parts.changed(state, error);
  }
}

/** Nobody has to wait for it. */
function quiet(): Deferred<Client> {
  const ready = deferred<Client>();
  ready.promise.catch(() => {});
  return ready;
}

async function end({ client, line }: Live): Promise<void> {
  await line.end?.();
  await client.close();
}

async function leave(line: Line): Promise<void> {
  await line.end?.();
  await line.connection.close();
}
