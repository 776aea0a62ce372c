// Trying again what an overloaded server has refused: after the pause it asks for, a few at a time, and not for ever.

import { type Clock, sleep } from '../base/clock.ts';
import type { AppError } from '../base/errors.ts';
import { type Deferred, deferred, unlessAborted } from '../base/signals.ts';
import { isOverload } from './errors.ts';
import { type Pauses, pauseBefore } from './timing.ts';

/** Requests that wait for their pause or are on their second way at one time; others queue up behind them. */
const AT_ONCE = 4;
const PAUSES: Pauses = { firstMs: 250, longestMs: 30_000 };

export class OverloadGate {
  readonly #clock: Clock;
  readonly #maxRetries: number;
  readonly #queue: Deferred<void>[] = [];
  #isUsed = 0;

  constructor(clock: Clock, maxRetries: number) {
    this.#clock = clock;
    this.#maxRetries = maxRetries;
  }

  /** Attempts until one is not refused for overload. Rejects with the last one, or on abort. */
  async run<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await attempt();
    } catch (error) {
      if (!isOverload(error)) throw error;
      return await this.#again(attempt, signal, error);
    }
  }

  async #again<T>(attempt: () => Promise<T>, signal: AbortSignal, first: AppError): Promise<T> {
    let error = first;
    await this.#enter(signal);
    try {
      for (let retry = 1; retry <= this.#maxRetries; retry += 1) {
        await sleep(this.#clock, pauseBefore(retry, { ...PAUSES, firstMs: askedFor(error) }), signal);
        try {
          return await attempt();
        } catch (next) {
          if (!isOverload(next)) throw next;
          error = next;
        }
      }
      throw error;
    } finally {
      this.#leave();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    if (this.#isUsed < AT_ONCE) {
      this.#isUsed += 1;
      return;
    }
    const turn = deferred();
    this.#queue.push(turn);
    try {
      await unlessAborted(turn.promise, signal);
    } catch (error) {
      const at = this.#queue.indexOf(turn);
      if (at >= 0) this.#queue.splice(at, 1);
      else this.#leave();
      throw error;
    }
  }

  #leave(): void {
    const next = this.#queue.shift();
    if (next) next.resolve();
    else this.#isUsed -= 1;
  }
}

/** Milliseconds; what a server says beyond reason is not followed. */
function askedFor({ data }: AppError): number {
  const asked = data.retry_after_ms ?? data.retryAfterMs;
  const isTime = typeof asked === 'number' && Number.isFinite(asked) && asked >= 0;
  return isTime ? Math.min(Math.max(asked, 10), PAUSES.longestMs) : PAUSES.firstMs;
}
