// Closes a connection when the token that let it in is over.

import type { Principal } from '../auth/principal.ts';
import type { Clock } from '../base/clock.ts';
import type { Connection } from './connection.ts';

/** Wall clocks jump, so the time is looked at again at least so often. */
const LOOK_MS = 60_000;

export function closeAtExpiry(connection: Connection, principal: Principal, clock: Clock): void {
  const { expiresAtMs } = principal;
  if (expiresAtMs === undefined) return;
  let stop = (): void => {};
  const look = (): void => {
    const left = expiresAtMs - clock.now();
    if (left <= 0) void connection.close({ kind: 'expired', text: 'token expired' });
    else stop = clock.timer(Math.min(left, LOOK_MS), look);
  };
  look();
  void connection.closed.then(() => stop());
}
