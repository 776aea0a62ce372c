// An initialized peer: who it is, what it asked for, and what it owns.

import type { z } from 'zod';
import type { Principal } from '../auth/principal.ts';
import type { Closable } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Notification, Request } from './declare.ts';
import type { ResponseMessage } from './message.ts';
import type { CallOptions, Peer } from './peer.ts';

export interface ClientInfo {
  readonly name: string;
  readonly title: string | null;
  readonly version: string;
  readonly experimentalApi: boolean;
  /** Where relative folders of this client begin; where those of the server do if it does not say. */
  readonly cwd?: string;
  /** Of its own command line, as tables: over those of the server. The same object as long as the connection lasts. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Notifications it does not want, by exact name. */
  readonly optOut: ReadonlySet<string>;
}

/** Numbers tell the sessions of a process apart: no random source has to be loaded before the first answer of a start. */
let sessionsMade = 0;

export class Session {
  /** Unique in this process. */
  readonly id = `session-${++sessionsMade}`;
  readonly principal: Principal;
  readonly peer: Peer;
  readonly #abort = new AbortController();
  readonly #owned = new Map<string, Closable>();
  readonly #log: Log;
  readonly #validates: boolean;
  #client: ClientInfo | undefined;

  /** `validates`: notifications are checked against their schemas, for tests and development. */
  constructor(peer: Peer, principal: Principal, log: Log, validates = false) {
    this.#validates = validates;
    this.peer = peer;
    this.principal = principal;
    this.#log = log;
    void peer.connection.closed.then((reason) => this.#end(reason.text));
  }

  /** Aborts when the connection ends. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get isInitialized(): boolean {
    return this.#client !== undefined;
  }

  get client(): ClientInfo {
    if (!this.#client) throw new AppError('notInitialized', 'initialize must be called first (Not initialized)');
    return this.#client;
  }

  initialized(client: ClientInfo): void {
    if (this.#client) throw new AppError('conflict', 'Already initialized', { kind: 'already_initialized' });
    this.#client = client;
  }

  wants(notification: Notification | { readonly method: string; readonly experimental: boolean }): boolean {
    const client = this.#client;
    if (!client || client.optOut.has(notification.method)) return false;
    return !notification.experimental || client.experimentalApi;
  }

  notify<P extends z.ZodType>(notification: Notification<P>, params: z.input<P>): void {
    if (this.#validates) notification.params().parse(params);
    if (this.wants(notification)) this.peer.notify(notification.method, params);
  }

  async request<P extends z.ZodType, R extends z.ZodType>(
    method: Request<P, R>,
    params: z.input<P>,
    options?: CallOptions,
  ): Promise<z.output<R>> {
    const answer = await this.peer.call(method.method, params, options);
    const parsed = method.result().safeParse(answer);
    if (!parsed.success) throw new AppError('invalid', `the answer to ${method.method} does not have the agreed shape`);
    return parsed.data;
  }

  /** Expects the answer to a question that goes out as a ready frame. */
  expect(id: number, take: (answer: ResponseMessage) => void): void {
    this.peer.expect(id, take);
  }

  /** Ties a resource to the connection: closed with it, or by `release`. Rejects a name in use. */
  own(key: string, resource: Closable): void {
    if (this.#owned.has(key)) throw new AppError('conflict', `${key} is in use on this connection`);
    if (this.signal.aborted) void this.#close(key, resource);
    else this.#owned.set(key, resource);
  }

  owned(key: string): Closable | undefined {
    return this.#owned.get(key);
  }

  /** How many resources have a name that begins so. */
  countOwned(prefix: string): number {
    let count = 0;
    for (const key of this.#owned.keys()) if (key.startsWith(prefix)) count += 1;
    return count;
  }

  /** Gives a resource back to the caller, who closes it. */
  release(key: string): Closable | undefined {
    const resource = this.#owned.get(key);
    this.#owned.delete(key);
    return resource;
  }

  #end(reason: string): void {
    this.#abort.abort(new AppError('cancelled', `the connection is closed: ${reason}`));
    for (const [key, resource] of this.#owned) void this.#close(key, resource);
    this.#owned.clear();
  }

  async #close(key: string, resource: Closable): Promise<void> {
    try {
      await resource.close();
    } catch (error) {
      this.#log.error({ err: error, resource: key }, 'closing a resource of a connection failed');
    }
  }
}

/** The initialized sessions of this process. */
export class Sessions {
  readonly #sessions = new Set<Session>();

  add(session: Session): void {
    this.#sessions.add(session);
    session.signal.addEventListener('abort', () => this.#sessions.delete(session), { once: true });
  }

  [Symbol.iterator](): IterableIterator<Session> {
    return this.#sessions.values();
  }

  get size(): number {
    return this.#sessions.size;
  }
}
