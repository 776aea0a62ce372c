// Requests on their way: bounded in number and time, and sent again where that is safe.

import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { cancelledBy, onAbort } from '../base/signals.ts';
import { type CallOptions, MAX_STOPS } from '../rpc/peer.ts';
import { asAppError, isCut, RequestError } from './errors.ts';
import type { Link } from './link.ts';
import type { Mutations, Tracked } from './mutations.ts';
import type { OverloadGate } from './overload.ts';
import type { AnyRequest } from './typed.ts';

export interface SendOptions extends CallOptions {
  /** For requests that change something; default: one that nobody has used. The same one again has the effect at most once. */
  readonly idempotencyKey?: string;
}

export interface CallsParts {
  readonly link: Link;
  readonly gate: OverloadGate;
  readonly clock: Clock;
  readonly mutations: Mutations;
  readonly maxPending: number;
  readonly timeoutMs: number;
  /** Called before the frame behind the answer is read. */
  readonly answered: (method: string, params: unknown, result: unknown) => void;
}

interface Call {
  readonly method: AnyRequest;
  readonly params: unknown;
  readonly mutation: Tracked | undefined;
  readonly signal: AbortSignal;
  readonly answered: (result: unknown) => void;
}

export class Calls {
  readonly #parts: CallsParts;
  #requests = 0;
  #stops = 0;
  #isClosed = false;
  #idle: (() => void)[] = [];

  constructor(parts: CallsParts) {
    this.#parts = parts;
  }

  get pending(): number {
    return this.#requests + this.#stops;
  }

  /** Rejects with a `RequestError`, beyond the limit at once and without sending anything. */
  async request(
    method: AnyRequest,
    params: unknown,
    options: SendOptions = {},
    answered: (result: never) => void = () => {},
  ): Promise<unknown> {
    const { mutations } = this.#parts;
    const mutation = mutations.of(method, options.idempotencyKey);
    this.#admit(method, mutation);
    const { signal, stop } = this.#limits(method, options);
    if (mutation) mutations.begin(mutation);
    try {
      return await this.#deliver({ method, params, mutation, signal, answered: answered as (result: unknown) => void });
    } catch (error) {
      throw new RequestError(asAppError(error), mutation?.picture);
    } finally {
      stop();
      this.#release(method);
      if (mutation) mutations.settled(mutation);
    }
  }

  /** Takes no more requests; settles when all are answered, or after `ms`. */
  drain(ms: number): Promise<void> {
    this.#isClosed = true;
    if (this.pending === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const stop = this.#parts.clock.timer(ms, resolve);
      this.#idle.push(() => {
        stop();
        resolve();
      });
    });
  }

  #admit(method: AnyRequest, mutation: Tracked | undefined): void {
    const refuse = (kind: 'unavailable' | 'overloaded', text: string): never => {
      throw new RequestError(new AppError(kind, text, { local: true }), mutation?.picture);
    };
    if (this.#isClosed) refuse('unavailable', 'the client is closed');
    if (method.isStop ? this.#stops >= MAX_STOPS : this.#requests >= this.#parts.maxPending)
      refuse('overloaded', 'too many requests of this client are unanswered; nothing was sent');
    if (method.isStop) this.#stops += 1;
    else this.#requests += 1;
  }

  #release({ isStop }: AnyRequest): void {
    if (isStop) this.#stops -= 1;
    else this.#requests -= 1;
    if (this.pending === 0) for (const idle of this.#idle.splice(0)) idle();
  }

  /** One deadline for all attempts. */
  #limits({ method }: AnyRequest, options: SendOptions): { signal: AbortSignal; stop: () => void } {
    const ending = new AbortController();
    const ms = options.timeoutMs ?? this.#parts.timeoutMs;
    const cancel = this.#parts.clock.timer(ms, () => {
      ending.abort(new AppError('unavailable', `no answer to ${method} within ${ms} ms`, { kind: 'timeout' }));
    });
    const { signal } = options;
    const off = signal ? onAbort(signal, () => ending.abort(cancelledBy(signal))) : () => {};
    return {
      signal: ending.signal,
      stop: () => {
        cancel();
        off();
      },
    };
  }

  async #deliver(call: Call): Promise<unknown> {
    const { link, gate } = this.#parts;
    for (;;)
      try {
        return await gate.run(() => this.#attempt(call), call.signal);
      } catch (error) {
        if (call.signal.aborted || !isCut(error) || !link.comesBack || !isRepeatable(call)) throw error;
      }
  }

  async #attempt({ method, params, mutation, signal, answered }: Call): Promise<unknown> {
    const { link } = this.#parts;
    const client = await link.ready(signal);
    const key = mutation?.idempotencyKey;
    mutation?.set('sent');
    try {
      return await client.request(method, key === undefined ? params : { ...(params as object), idempotencyKey: key }, {
        signal,
        answered: (result) => {
          link.held();
          mutation?.answered(result);
          this.#parts.answered(method.method, params, result);
          answered(result);
        },
      });
    } catch (error) {
      mutation?.failed(error, signal.aborted);
      throw error;
    }
  }
}

/** It changes nothing, or the server knows a second one from the first. */
const isRepeatable = ({ mutation }: Call): boolean => !mutation || mutation.idempotencyKey !== undefined;
