// What is known of the effects that this client has asked for.

import { isCut, isOverload, isUncertain, type MutationState } from './errors.ts';
import type { AnyRequest, RequestName } from './typed.ts';

/** A request that changes something, and what is known of its effect. */
export interface Mutation {
  readonly method: string;
  /** Undefined: the method takes none, so that it is never sent again by itself. */
  readonly idempotencyKey?: string;
  readonly state: MutationState;
  /** The turn that it began. */
  readonly turnId?: string;
}

/** They change something, mostly for their connection alone, and the server does not know a second one from the first. */
const WITHOUT_KEY: ReadonlySet<string> = new Set<RequestName>([
  'turn/settings/update',
  'experimentalFeature/enablement/set',
  'account/login/cancel',
  'command/exec',
  'command/exec/write',
  'command/exec/resize',
  'process/spawn',
  'process/writeStdin',
  'process/resizePty',
  'fs/watch',
  'fs/unwatch',
  'fuzzyFileSearch/sessionStart',
  'fuzzyFileSearch/sessionUpdate',
  'fuzzyFileSearch/sessionStop',
]);

/** Mutations of which the end is not known, and turns that have ended; beyond it the oldest are forgotten. */
const MAX_KEPT = 1024;

/** One of them, from when it is asked for until its end is known. */
export class Tracked {
  readonly method: string;
  readonly idempotencyKey: string | undefined;
  readonly #changed: (mutation: Mutation) => void;
  readonly #isOver: (turnId: string) => boolean;
  #state: MutationState = 'unsent';
  #turnId: string | undefined;
  /** A cut came after it was sent: that it is refused later does not say that it had no effect then. */
  #mayHaveLanded = false;

  constructor(
    method: string,
    idempotencyKey: string | undefined,
    hooks: { readonly changed: (mutation: Mutation) => void; readonly isOver: (turnId: string) => boolean },
  ) {
    this.method = method;
    this.idempotencyKey = idempotencyKey;
    this.#changed = hooks.changed;
    this.#isOver = hooks.isOver;
  }

  get state(): MutationState {
    return this.#state;
  }

  get turnId(): string | undefined {
    return this.#turnId;
  }

  get picture(): Mutation {
    return {
      method: this.method,
      ...(this.idempotencyKey === undefined ? {} : { idempotencyKey: this.idempotencyKey }),
      state: this.#state,
      ...(this.#turnId === undefined ? {} : { turnId: this.#turnId }),
    };
  }

  set(state: MutationState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#changed(this.picture);
  }

  answered(result: unknown): void {
    const { turn } = (result ?? {}) as { turn?: { id?: unknown; status?: unknown } };
    const runs = this.method === 'turn/start' && turn?.status === 'inProgress' && typeof turn.id === 'string';
    if (runs) this.#turnId = turn.id as string;
    this.set(runs && !this.#isOver(turn.id as string) ? 'running' : 'done');
  }

  failed(error: unknown, isGivenUp: boolean): void {
    if (isCut(error)) this.#mayHaveLanded = true;
    if (isOverload(error)) this.set(this.#mayHaveLanded ? 'unknown' : 'unsent');
    else this.set(isCut(error) || isUncertain(error) || isGivenUp ? 'unknown' : 'done');
  }
}

export class Mutations {
  readonly #hooks: ConstructorParameters<typeof Tracked>[2];
  readonly #open = new Set<Tracked>();
  /** The last turns that have ended: after a cut their end may be told before the answer to the request that began them. */
  readonly #ended = new Set<string>();

  constructor(changed: (mutation: Mutation) => void) {
    this.#hooks = { changed, isOver: (turnId) => this.#ended.has(turnId) };
  }

  /** Undefined: the method changes nothing. */
  of({ method, mutates }: AnyRequest, idempotencyKey: string | undefined): Tracked | undefined {
    if (mutates) return new Tracked(method, idempotencyKey ?? newKey(), this.#hooks);
    return WITHOUT_KEY.has(method) ? new Tracked(method, undefined, this.#hooks) : undefined;
  }

  /** From now on it is among those whose end is not known; in place of an earlier one with its key. */
  begin(mutation: Tracked): void {
    for (const old of this.#open) {
      const isRepeated = old.idempotencyKey === mutation.idempotencyKey && old.method === mutation.method;
      const isTooMuch = this.#open.size >= MAX_KEPT && (old.state === 'unknown' || old.state === 'running');
      if ((isRepeated && mutation.idempotencyKey !== undefined) || isTooMuch) this.#open.delete(old);
    }
    this.#open.add(mutation);
  }

  /** Its request is over. */
  settled(mutation: Tracked): void {
    if (mutation.state !== 'running' && mutation.state !== 'unknown') this.#open.delete(mutation);
  }

  /** A turn is over, as it was told or found. */
  turnEnded(turnId: string): void {
    this.#ended.add(turnId);
    for (const oldest of this.#ended) {
      if (this.#ended.size <= MAX_KEPT) break;
      this.#ended.delete(oldest);
    }
    for (const mutation of this.#open)
      if (mutation.turnId === turnId && mutation.state === 'running') {
        mutation.set('done');
        this.#open.delete(mutation);
      }
  }

  /** Nothing more is heard of turns that run. */
  over(): void {
    for (const mutation of this.#open) if (mutation.state === 'running') mutation.set('unknown');
  }

  /** Those whose end is not known, oldest first. */
  list(): readonly Mutation[] {
    return [...this.#open].map(({ picture }) => picture);
  }
}

/** Of the platform's own randomness, also where pages are served without TLS. */
function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
