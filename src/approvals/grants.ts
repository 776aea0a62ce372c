// What was accepted for a turn or for as long as the thread is loaded; state of the thread, never rebuilt from its log.

import type { Permissions } from '../model/approval.ts';
import type { GrantHolder } from './thread-port.ts';

export const NO_PERMISSIONS: Permissions = { network: false, read: [], write: [] };

export class Grants implements GrantHolder {
  readonly #turn = new Set<string>();
  readonly #session = new Set<string>();
  #turnPermissions = NO_PERMISSIONS;
  #sessionPermissions = NO_PERMISSIONS;

  has(operationDigest: string): boolean {
    return this.#turn.has(operationDigest) || this.#session.has(operationDigest);
  }

  add(operationDigest: string, until: 'turn' | 'session'): void {
    (until === 'turn' ? this.#turn : this.#session).add(operationDigest);
  }

  permissions(): Permissions {
    return together(this.#sessionPermissions, this.#turnPermissions);
  }

  grant(permissions: Permissions, until: 'turn' | 'session'): void {
    if (until === 'turn') this.#turnPermissions = together(this.#turnPermissions, permissions);
    else this.#sessionPermissions = together(this.#sessionPermissions, permissions);
  }

  endTurn(): void {
    this.#turn.clear();
    this.#turnPermissions = NO_PERMISSIONS;
  }
}

/** All that either of them allows. */
export function together(one: Permissions, other: Permissions): Permissions {
  const both = (a: readonly string[], b: readonly string[]) => [...new Set([...a, ...b])];
  return {
    network: one.network || other.network,
    read: both(one.read, other.read),
    write: both(one.write, other.write),
  };
}
