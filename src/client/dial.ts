// How a client reaches its server, again and again; each way of reaching it gives the same.

import type { Connection } from '../transports/connection.ts';

export interface Line {
  readonly connection: Connection;
  /** Says goodbye where more than the connection has to go, such as a process of ours; settles when it has. */
  readonly end?: () => Promise<void>;
  /** What the other side said beside the protocol, at last; empty: nothing. */
  readonly lastWords?: () => string;
}

export interface DialHooks {
  /** Text beside the protocol. */
  readonly stderr: (text: string) => void;
}

/** A new connection each time. Rejects as *unauthenticated*, *forbidden* or *invalid* where trying again is useless. */
export type Dial = (hooks: DialHooks) => Promise<Line>;
