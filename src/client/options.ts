// What can be set when a client is made, and what is so if nothing is.

import type { Dial } from './dial.ts';
import type { ReconnectOptions } from './link.ts';
import type { QuestionHandlers } from './question-handlers.ts';
import type { QuestionWatcher } from './questions.ts';

export interface ClientSettings {
  /** What the program calls itself. */
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  /** Default: true, since much of what this client does needs it. */
  readonly experimentalApi?: boolean;
  /** Notifications that are not to be sent, by exact name. */
  readonly optOut?: readonly string[];
  /** Answers to questions of the server, by method. What has no handler is refused. */
  readonly onServerRequest?: QuestionHandlers;
  /** For programs that only look: is shown every question in place of handlers, and none is answered. */
  readonly questionWatcher?: QuestionWatcher;
  /** Requests without an answer at one time; default 256. One more is refused here with -32001. */
  readonly maxPendingRequests?: number;
  /** Until a request is given up, all attempts included; default 120,000. */
  readonly requestTimeoutMs?: number;
  /** For dialling and the handshake; default 30,000. */
  readonly connectTimeoutMs?: number;
  /** How often a request that an overloaded server refuses is sent again; default 8. */
  readonly maxOverloadRetries?: number;
  /** Default: 12 attempts in a row, with pauses from 100 ms to 10 s. False: a connection that has ended is the end. */
  readonly reconnect?: Partial<ReconnectOptions> | false;
  /** How long `close` waits for answers; default 5,000. */
  readonly drainMs?: number;
}

export interface ResolvedSettings extends Required<Omit<ClientSettings, 'title' | 'reconnect' | 'questionWatcher'>> {
  readonly questionWatcher?: QuestionWatcher;
  readonly title?: string;
  readonly reconnect: ReconnectOptions | false;
  readonly dial: Dial;
}

export function resolved(settings: ClientSettings, dial: Dial): ResolvedSettings {
  return {
    experimentalApi: true,
    optOut: [],
    onServerRequest: {},
    maxPendingRequests: 256,
    requestTimeoutMs: 120_000,
    connectTimeoutMs: 30_000,
    maxOverloadRetries: 8,
    drainMs: 5_000,
    ...settings,
    reconnect:
      settings.reconnect === false
        ? false
        : { maxAttempts: 12, firstMs: 100, longestMs: 10_000, ...settings.reconnect },
    dial,
  };
}
