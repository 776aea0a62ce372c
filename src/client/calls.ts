// Requests on their way: bounded in number and time, sent again where that is safe, and honest about what became of them.

import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { cancelledBy, onAbort } from '../base/signals.ts';
import type { CallOptions } from '../rpc/peer.ts';
import { MAX_STOPS } from '../rpc/peer.ts';
import { asAppError, isCut, isOverload, isUncertain, type MutationState, RequestError } from './errors.ts';
import type { Link } from './link.ts';
import type { OverloadGate } from './overload.ts';
import type { AnyRequest } from './typed.ts';

/** A request that changes something, and what is known of its effect. */
export interface Mutation {
  readonly method: string;
  readonly idempotencyKey: string;
  readonly state: MutationState;
  /** The turn that it began. */
  readonly turnId?: string;
}

export interface SendOptions extends CallOptions {
  /** For requests that change something; default: one that nobody has used. The same one again has the effect at most once. */
  readonly idempotencyKey?: string;
}

export interface CallsParts {
  readonly link: Link;
  readonly gate: OverloadGate;
  readonly clock: Clock;
  readonly maxPending: number;
  readonly timeoutMs: number;
  /** A mutation is in another state now. */
  readonly changed: (mutation: Mutation) => void;
  /** Called before the frame behind the answer is read. */
  readonly answered: (method: string, params: unknown, result: unknown) => void;
}

/** Mutations of which the end is not known, beyond which the oldest are forgotten. */
const MAX_KEPT = 1024;

interface Call {
  readonly method: AnyRequest;
  readonly params: unknown;
  readonly mutation: Tracked | undefined;
  readonly signal: AbortSignal;
  readonly answered: (result: unknown) => void;
}

class Tracked implements Mutation {
  readonly method: string;
  readonly idempotencyKey: string;
  state: MutationState = 'unsent';
  turnId?: string;
  /** A cut came after it was sent: that it is refused later does not say that it had no effect then. */
  mayHaveLanded = false;

  constructor(method: string, idempotencyKey: string) {
    this.method = method;
    this.idempotencyKey = idempotencyKey;
  }

  get picture(): Mutation {
    const { method, idempotencyKey, state, turnId } = this;
    return { method, idempotencyKey, state, ...(turnId === undefined ? {} : { turnId }) };
  }
}

export class Calls {
  readonly #parts: CallsParts;
  readonly #mutations = new Set<Tracked>();
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

  /** Those that are not done, oldest first. */
  mutations(): readonly Mutation[] {
    return [...this.#mutations].map(({ picture }) => picture);
  }

  /** Rejects with a `RequestError`, beyond the limit at once and without sending anything. */
  async request(
    method: AnyRequest,
    params: unknown,
    options: SendOptions = {},
    answered: (result: never) => void = () => {},
  ): Promise<unknown> {
    const mutation = method.mutates ? new Tracked(method.method, options.idempotencyKey ?? newKey()) : undefined;
    this.#admit(method, mutation);
    const { signal, stop } = this.#limits(method, options);
    if (mutation) this.#keep(mutation);
    try {
      return await this.#deliver({ method, params, mutation, signal, answered: answered as (result: unknown) => void });
    } catch (error) {
      throw new RequestError(asAppError(error), mutation);
    } finally {
      stop();
      this.#release(method);
      if (mutation && mutation.state !== 'running' && mutation.state !== 'unknown') this.#mutations.delete(mutation);
    }
  }

  /** A turn is over, as it was told or found. */
  turnEnded(turnId: string): void {
    for (const mutation of this.#mutations)
      if (mutation.turnId === turnId && mutation.state === 'running') {
        this.#set(mutation, 'done');
        this.#mutations.delete(mutation);
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

  /** Nothing more is heard of turns that run. */
  over(): void {
    for (const mutation of this.#mutations) if (mutation.state === 'running') this.#set(mutation, 'unknown');
  }

  #keep(mutation: Tracked): void {
    for (const old of this.#mutations) {
      const isRepeated = old.idempotencyKey === mutation.idempotencyKey && old.method === mutation.method;
      const isTooMuch = this.#mutations.size >= MAX_KEPT && (old.state === 'unknown' || old.state === 'running');
      if (isRepeated || isTooMuch) this.#mutations.delete(old);
    }
    this.#mutations.add(mutation);
  }

  #admit(method: AnyRequest, mutation: Mutation | undefined): void {
    const refuse = (kind: 'unavailable' | 'overloaded', text: string): never => {
      throw new RequestError(new AppError(kind, text, { local: true }), mutation);
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
    const { mutation, signal } = call;
    for (;;) {
      const { link, gate } = this.#parts;
      try {
        return await gate.run(() => this.#attempt(call), signal);
      } catch (error) {
        if (signal.aborted || !isCut(error) || !link.comesBack || mutation?.state === 'unsent') throw error;
        if (link.state === 'closed') throw error;
      }
    }
  }

  async #attempt({ method, params, mutation, signal, answered }: Call): Promise<unknown> {
    const { link } = this.#parts;
    const client = await link.ready(signal);
    const keyed = mutation ? { ...(params as object), idempotencyKey: mutation.idempotencyKey } : params;
    this.#set(mutation, 'sent');
    try {
      return await client.request(method, keyed, {
        signal,
        answered: (result) => {
          link.held();
          this.#landed(mutation, method, result);
          this.#parts.answered(method.method, params, result);
          answered(result);
        },
      });
    } catch (error) {
      this.#failed(mutation, error, signal);
      throw error;
    }
  }

  #failed(mutation: Tracked | undefined, error: unknown, signal: AbortSignal): void {
    if (!mutation) return;
    if (isCut(error)) mutation.mayHaveLanded = true;
    const isOpen = isCut(error) || isUncertain(error) || signal.aborted;
    const isRefused = isOverload(error) && !mutation.mayHaveLanded;
    if (isRefused) this.#set(mutation, 'unsent');
    else this.#set(mutation, isOpen || isOverload(error) ? 'unknown' : 'done');
  }

  #landed(mutation: Tracked | undefined, { method }: AnyRequest, result: unknown): void {
    const { turn } = (result ?? {}) as { turn?: { id?: unknown; status?: unknown } };
    const runs = method === 'turn/start' && turn?.status === 'inProgress' && typeof turn.id === 'string';
    if (mutation && runs) mutation.turnId = turn.id as string;
    this.#set(mutation, runs ? 'running' : 'done');
  }

  #set(mutation: Tracked | undefined, state: MutationState): void {
    if (!mutation || mutation.state === state) return;
    mutation.state = state;
    this.#parts.changed(mutation.picture);
  }
}

/** Of the platform's own randomness, also where pages are served without TLS. */
function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
