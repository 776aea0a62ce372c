// All connections to MCP servers: a set for each thread that uses them, and one that requests without a thread share.

import { type Closable, closeOnce } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import type { McpServer } from '../config/mcp-servers.ts';
import type { Table } from '../config/tables.ts';
import type { ThreadId } from '../model/ids.ts';
import type { Notification, ParamsInput } from '../rpc/declare.ts';
import type { McpConnection } from './connection.ts';
import { DECLINED, type ElicitationAnswer } from './elicitation.ts';
import type { Logins } from './logins.ts';
import { mcpServerStatusUpdated } from './methods.ts';
import type { Elicited } from './open-questions.ts';
import { ServerSet, type SetParts } from './server-set.ts';

/** The thread that a set belongs to. */
export interface McpThread {
  readonly threadId: ThreadId;
  /** Where its programs run, absolute. */
  cwd(): string;
  /** Servers that it has over those that are configured, as settings. */
  own(): Table | undefined;
  /** Tells everyone who listens to it. */
  tell<N extends Notification>(notification: N, params: ParamsInput<N>): void;
  /** Asks its people as `Elicit` does. */
  elicit(server: string, elicited: Elicited): Promise<ElicitationAnswer>;
}

export interface McpServersParts extends SetParts {
  /** Where programs run for requests without a thread, absolute. */
  readonly cwd: string;
}

/** How long servers stay that were connected for a request without a thread, in milliseconds. */
const SHARED_IDLE_MS = 60_000;

export class McpServers implements Closable {
  readonly #parts: McpServersParts;
  readonly #sets = new Set<ServerSet>();
  #shared: { readonly set: ServerSet; users: number; cancelEnd: () => void } | undefined;

  constructor(parts: McpServersParts) {
    this.#parts = parts;
  }

  /** Connects nothing before it is started; the thread closes it. */
  forThread(thread: McpThread): ServerSet {
    const set: ServerSet = new ServerSet(this.#parts, {
      cwd: () => thread.cwd(),
      own: () => thread.own(),
      tell: (connection) => thread.tell(mcpServerStatusUpdated, startupStatus(thread.threadId, connection)),
      elicit: (server, elicited) => thread.elicit(server, elicited),
      closed: () => this.#sets.delete(set),
    });
    this.#sets.add(set);
    return set;
  }

  /** Work with the connections that are shared; they end some time after the last of it. */
  async withShared<T>(work: (set: ServerSet) => Promise<T>): Promise<T> {
    this.#shared ??= { set: this.#openShared(), users: 0, cancelEnd: () => {} };
    const shared = this.#shared;
    shared.cancelEnd();
    shared.users += 1;
    try {
      return await work(shared.set);
    } finally {
      shared.users -= 1;
      if (shared.users === 0) shared.cancelEnd = this.#parts.clock.timer(SHARED_IDLE_MS, () => this.#endShared());
    }
  }

  /** Every set follows the configuration. Rejects as *invalid* while that cannot be used; nothing is changed then. */
  async reload(): Promise<void> {
    await this.#parts.configured();
    await Promise.all([...this.#sets].map((set) => set.reload()));
  }

  async isLoggedIn({ name, endpoint }: McpServer): Promise<boolean> {
    return endpoint.kind === 'address' && this.#parts.logins.isLoggedIn({ name, url: endpoint.url });
  }

  /** Begins a log-in at a server that is configured or `among` these; when it has ended well, connections that were refused are made anew, and then `ended` is told. */
  async login(
    name: string,
    among: readonly McpServer[] | undefined,
    options: Parameters<Logins['begin']>[1],
    ended: (loginId: string, error: string | undefined) => void,
  ): ReturnType<Logins['begin']> {
    const all = among ?? (await this.#parts.configured());
    const server = all.find((each) => each.name === name);
    if (!server) throw new AppError('notFound', `unknown MCP server '${name}'`, { server: name });
    if (server.endpoint.kind !== 'address')
      throw new AppError('invalid', `the MCP server ${name} is a program: there is nothing to log in to`);
    const { url, clientDocument } = server.endpoint;
    return this.#parts.logins.begin({ name, url, clientDocument }, options, (loginId, error) => {
      const done = error === undefined ? this.reload() : Promise.resolve();
      void done.catch(() => {}).then(() => ended(loginId, error));
    });
  }

  readonly close = closeOnce(async () => {
    this.#shared?.cancelEnd();
    await Promise.all([...this.#sets].map((set) => set.close()));
    await this.#parts.logins.close();
  });

  #openShared(): ServerSet {
    const { cwd } = this.#parts;
    const set: ServerSet = new ServerSet(this.#parts, {
      cwd: () => cwd,
      own: () => undefined,
      tell: () => {},
      elicit: async () => DECLINED,
      closed: () => this.#sets.delete(set),
    });
    this.#sets.add(set);
    return set;
  }

  #endShared(): void {
    const ending = this.#shared?.set;
    this.#shared = undefined;
    void ending?.close();
  }
}

function startupStatus(threadId: ThreadId, { server, state }: McpConnection) {
  const { name } = server;
  const failed = state.kind === 'failed' ? state : undefined;
  return {
    threadId,
    name,
    environmentId: null,
    status: state.kind,
    error: failed ? `MCP client for \`${name}\` failed to start: MCP startup failed: ${failed.error}` : null,
    failureReason: failed?.needsLogin ? ('reauthenticationRequired' as const) : null,
  };
}
