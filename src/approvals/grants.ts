// What was accepted for a turn or for as long as the thread is loaded; state of the thread, never rebuilt from its log.

import type { GrantHolder } from './thread-port.ts';

export class Grants implements GrantHolder {
  readonly #turn = new Set<string>();
  readonly #session = new Set<string>();

  has(operationDigest: string): boolean {
    return this.#turn.has(operationDigest) || this.#session.has(operationDigest);
  }

  add(operationDigest: string, until: 'turn' | 'session'): void {
    (until === 'turn' ? this.#turn : this.#session).add(operationDigest);
  }

  endTurn(): void {
    this.#turn.clear();
  }
}
