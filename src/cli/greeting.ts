// The handshake of commands with a server, which has to answer in time: one that is stopped or stuck takes connections all the same.

import { AppError } from '../base/errors.ts';
import { unlessAborted } from '../base/signals.ts';
import { type Client, type ClientOptions, connect } from '../client/client.ts';
import type { Connection } from '../transports/connection.ts';
import { VERSION } from './environment.ts';

const HANDSHAKE_MS = 15_000;

export type Introduction = Omit<ClientOptions, 'version'>;

/** Rejects as the handshake does, and as *unavailable* after `ms`. The connection is closed then. */
export async function greeted(connection: Connection, who: Introduction, ms = HANDSHAKE_MS): Promise<Client> {
  const limit = AbortSignal.timeout(ms);
  const greeting = connect(connection, { ...who, version: VERSION });
  try {
    return await unlessAborted(greeting, limit);
  } catch (error) {
    if (!limit.aborted) throw error;
    // What does not answer may not close either.
    void connection.close();
    greeting.catch(() => {});
    throw new AppError(
      'unavailable',
      `the server takes the connection and says nothing within ${ms / 1000} s; is it stopped?`,
    );
  }
}
