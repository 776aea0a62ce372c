// The model lists of providers as last heard: asked for in the background, kept for a while, never waited for longer than asked.

import { fingerprint } from '../../base/canonical.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { type Closable, closeOnce } from '../../base/close.ts';
import type { ProviderAccess } from './client.ts';
import type { ListedModel } from './listing.ts';

/** How long a list counts as new, in milliseconds. */
const FRESH_MS = 10 * 60_000;
/** How long a provider that gave none is left alone. */
const FAILED_MS = 60_000;
/** How long a provider may take for its list. */
const LIMIT_MS = 20_000;
/** Providers whose lists are kept; the one that was asked for longest ago goes first. */
const MAX_PROVIDERS = 32;

interface Entry {
  models: readonly ListedModel[];
  /** On the monotonic clock. */
  dueAt: number;
  asking: Promise<void> | undefined;
}

export class ListingCache implements Closable {
  readonly #list: (access: ProviderAccess, signal: AbortSignal) => Promise<readonly ListedModel[]>;
  readonly #clock: Clock;
  /** By everything that reaches the provider: another key may be shown other models. */
  readonly #entries = new Map<string, Entry>();
  readonly #abort = new AbortController();

  constructor(list: (access: ProviderAccess, signal: AbortSignal) => Promise<readonly ListedModel[]>, clock: Clock) {
    this.#list = list;
    this.#clock = clock;
  }

  /** Nobody has been asked yet. */
  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /** What was heard last; asks nobody. */
  known(access: ProviderAccess): readonly ListedModel[] {
    return this.#entries.get(fingerprint(access))?.models ?? [];
  }

  /**
   * Has the provider asked if what is known is not new. Waits for the answer, at most `waitMs`, only where nothing is known;
   * never rejects: a provider that does not list its models has none here.
   */
  async get(access: ProviderAccess, waitMs: number): Promise<readonly ListedModel[]> {
    const entry = this.#entryOf(access);
    if (this.#clock.elapsed() >= entry.dueAt) entry.asking ??= this.#ask(access, entry);
    if (entry.asking !== undefined && entry.models.length === 0) {
      const over = new AbortController();
      await Promise.race([entry.asking, sleep(this.#clock, waitMs, over.signal).catch(() => {})]);
      over.abort();
    }
    return entry.models;
  }

  readonly close = closeOnce(async () => {
    this.#abort.abort('the server stops');
    await Promise.all([...this.#entries.values()].map(({ asking }) => asking));
  });

  #entryOf(access: ProviderAccess): Entry {
    const key = fingerprint(access);
    const entry = this.#entries.get(key) ?? { models: [], dueAt: 0, asking: undefined };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const oldest = this.#entries.keys().next().value;
    if (this.#entries.size > MAX_PROVIDERS && oldest !== undefined) this.#entries.delete(oldest);
    return entry;
  }

  async #ask(access: ProviderAccess, entry: Entry): Promise<void> {
    const over = new AbortController();
    const signal = AbortSignal.any([this.#abort.signal, over.signal]);
    const stopTimer = this.#clock.timer(LIMIT_MS, () => over.abort('the list takes too long'));
    try {
      entry.models = await this.#list(access, signal);
      entry.dueAt = this.#clock.elapsed() + FRESH_MS;
    } catch {
      // Whoever runs turns on the provider is told by the turn; what is known stays.
      entry.dueAt = this.#clock.elapsed() + FAILED_MS;
    } finally {
      stopTimer();
      entry.asking = undefined;
    }
  }
}
