// How often an address may present a wrong token; a right one is never counted, so a friend is not locked out.

import type { Clock } from '../base/clock.ts';

const BURST = 60;
const PER_SECOND = 2;
/** Addresses remembered; the one that failed longest ago is forgotten first. */
const MAX_ADDRESSES = 4096;

interface Allowance {
  left: number;
  at: number;
}

export class FailureLimiter {
  readonly #clock: Clock;
  readonly #byAddress = new Map<string, Allowance>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a failure; false when the address has had its share. */
  count(address: string): boolean {
    const now = this.#clock.elapsed();
    const known = this.#byAddress.get(address);
    const left = known ? Math.min(BURST, known.left + ((now - known.at) / 1000) * PER_SECOND) : BURST;
    this.#byAddress.delete(address);
    this.#byAddress.set(address, { left: Math.max(0, left - 1), at: now });
    if (this.#byAddress.size > MAX_ADDRESSES) {
      const [oldest] = this.#byAddress.keys();
      if (oldest !== undefined) this.#byAddress.delete(oldest);
    }
    return left >= 1;
  }
}
