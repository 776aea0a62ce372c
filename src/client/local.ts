// `heddle/client/node`: the client library for Node, which can also start a server and reach one by its Unix socket.

import type { Dial } from './dial.ts';
import { connectWith, type Heddle } from './heddle.ts';
import { reach } from './node.ts';
import type { ClientSettings } from './options.ts';
import { dialProcess, type SpawnOptions } from './server-process.ts';

export * from './web.ts';
export type { SpawnOptions };

/** One way to the server. */
export type Way =
  | { readonly spawn: SpawnOptions; readonly url?: never; readonly socket?: never; readonly token?: never }
  /** The absolute path of its Unix socket. */
  | { readonly socket: string; readonly spawn?: never; readonly url?: never; readonly token?: never }
  /** `ws://`, `wss://` or `unix://`. The token is sent as a header, never in plain text beyond this machine. */
  | { readonly url: string; readonly token?: string | undefined; readonly spawn?: never; readonly socket?: never };

export type ConnectOptions = ClientSettings & Way;

/**
 * Connects, tried once. Rejects as *invalid* for a wrong address, as *unauthenticated* or *forbidden* when refused, else as
 * *unavailable*.
 */
export async function connect(options: ConnectOptions): Promise<Heddle> {
  return connectWith(() => dialOf(options), options);
}

function dialOf(way: Way): Dial {
  if (way.spawn) return dialProcess(way.spawn);
  const address = way.socket === undefined ? way.url : `unix://${way.socket}`;
  const token = way.token === undefined ? {} : { token: way.token };
  return async () => ({ connection: await reach(address, token) });
}
