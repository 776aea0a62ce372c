// The connections of one owner, a thread or everybody who has none: at most one to each configured server.

import { type Closable, closeOnce } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import { deferred, unlessAborted } from '../base/signals.ts';
import type { McpServer } from '../config/mcp-servers.ts';
import { type ConnectionParts, McpConnection } from './connection.ts';
import type { Elicitation, ElicitationAnswer } from './elicitation.ts';
import { type OfferedTool, offeredTools } from './tool-names.ts';

export interface SetOwner {
  /** Where programs run, absolute. */
  cwd(): string;
  /** A connection has another state, or says so again. */
  tell(connection: McpConnection): void;
  /** Asks people; never rejects. */
  elicit(server: string, question: Elicitation, signal: AbortSignal): Promise<ElicitationAnswer>;
  /** Nothing of the set is left. */
  closed(): void;
}

export interface SetParts extends Omit<ConnectionParts, 'cwd' | 'elicit' | 'changed'> {
  /** As they are configured now, by name. Rejects as *invalid* while the configuration cannot be used. */
  readonly configured: () => Promise<readonly McpServer[]>;
}

export interface SetEntry {
  readonly server: McpServer;
  /** Absent when it is switched off. */
  readonly connection: McpConnection | undefined;
}

/** How long the first request of a model may wait for servers that are starting, in milliseconds. */
const GRACE_MS = 600;

export class ServerSet implements Closable {
  readonly #parts: SetParts;
  readonly #owner: SetOwner;
  #entries: readonly SetEntry[] = [];
  #starting: Promise<void> | undefined;
  /** Settles some time after the start. */
  #grace = deferred();
  #isClosed = false;
  readonly #closing = new Set<Promise<void>>();

  constructor(parts: SetParts, owner: SetOwner) {
    this.#parts = parts;
    this.#owner = owner;
  }

  /** By name. */
  get entries(): readonly SetEntry[] {
    return this.#entries;
  }

  /** Begins to connect to every server that is switched on, once; does not wait for any. Never rejects. */
  start(): Promise<void> {
    this.#starting ??= this.#adopt().catch((error: unknown) => {
      this.#parts.log.warn({ err: error }, 'MCP servers cannot be started: the configuration cannot be used');
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Follows the configuration: what has changed or failed is connected anew, what is as it was stays. Rejects as *invalid*. */
  async reload(): Promise<void> {
    if (!this.#starting) return;
    await this.#starting;
    await this.#adopt();
  }

  /** Connected or about to be. Rejects as *internal* when there is no such server, or it is switched off. */
  async connection(name: string): Promise<McpConnection> {
    await this.start();
    const entry = this.#entries.find(({ server }) => server.name === name);
    if (!entry) throw new AppError('internal', `unknown MCP server '${name}'`, { server: name });
    if (!entry.connection) throw new AppError('internal', `MCP server '${name}' is disabled`, { server: name });
    await entry.connection.begun;
    const { state } = entry.connection;
    if (state.kind === 'ready') return entry.connection;
    const why = state.kind === 'failed' ? state.error : 'it was closed';
    throw new AppError('internal', `failed to get client: MCP startup failed: ${why}`, { server: name });
  }

  /** Tools of the servers that are there now. */
  offered(): readonly OfferedTool[] {
    return offeredTools(
      this.#entries.flatMap(({ server, connection }) =>
        connection?.state.kind === 'ready' ? [{ server: server.name, tools: connection.tools }] : [],
      ),
    );
  }

  /**
   * Gives servers that are starting a moment, those that are required or `needed` by name all their time. Rejects as *unavailable* naming the
   * required ones that failed, as *cancelled* when the signal aborts.
   */
  async settled(signal: AbortSignal, needed: readonly string[] = []): Promise<void> {
    await unlessAborted(this.start(), signal);
    await this.requireAll(signal);
    const begun = this.#entries.map(({ connection }) => connection?.begun);
    const awaited = this.#entries.filter(({ server }) => needed.includes(server.name));
    await unlessAborted(Promise.all(awaited.map(({ connection }) => connection?.begun)), signal);
    await unlessAborted(Promise.race([Promise.all(begun), this.#grace.promise]), signal);
  }

  /** Waits for the servers that are required; rejects as `settled` does. */
  async requireAll(signal: AbortSignal): Promise<void> {
    await unlessAborted(this.start(), signal);
    const required = this.#entries.filter(({ server, connection }) => server.isRequired && connection);
    await unlessAborted(Promise.all(required.map(({ connection }) => connection?.begun)), signal);
    const failed = required.flatMap(({ server, connection }) =>
      connection?.state.kind === 'failed' ? [`${server.name}: ${connection.state.error}`] : [],
    );
    if (failed.length > 0)
      throw new AppError('unavailable', `required MCP servers failed to initialize: ${failed.join('; ')}`);
  }

  readonly close = closeOnce(async () => {
    this.#isClosed = true;
    this.#grace.resolve();
    await this.#starting?.catch(() => {});
    for (const { connection } of this.#entries) if (connection) this.#end(connection);
    this.#entries = [];
    while (this.#closing.size > 0) await Promise.all(this.#closing);
    this.#owner.closed();
  });

  async #adopt(): Promise<void> {
    const configured = await this.#parts.configured();
    if (this.#isClosed) return;
    const before = new Map(this.#entries.map((entry) => [entry.server.name, entry]));
    this.#entries = configured.map((server) => {
      const known = before.get(server.name);
      if (known?.connection && this.#stays(known.connection, server)) {
        before.delete(server.name);
        if (known.connection.state.kind === 'ready') this.#owner.tell(known.connection);
        return { server, connection: known.connection };
      }
      return { server, connection: server.isEnabled ? this.#connect(server) : undefined };
    });
    for (const { connection } of before.values()) if (connection) this.#end(connection);
    const grace = deferred();
    this.#grace = grace;
    this.#parts.clock.timer(GRACE_MS, grace.resolve);
  }

  #stays({ server, state }: McpConnection, wanted: McpServer): boolean {
    return server.digest === wanted.digest && (state.kind === 'starting' || state.kind === 'ready');
  }

  #connect(server: McpServer): McpConnection {
    const connection: McpConnection = new McpConnection(server, {
      ...this.#parts,
      cwd: this.#owner.cwd(),
      elicit: (question, signal) => this.#owner.elicit(server.name, question, signal),
      changed: (changed) => this.#owner.tell(changed),
    });
    this.#owner.tell(connection);
    return connection;
  }

  #end(connection: McpConnection): void {
    const ending = connection.close().catch((error: unknown) => {
      this.#parts.log.warn({ err: error, server: connection.server.name }, 'an MCP server could not be closed');
    });
    this.#closing.add(ending);
    void ending.then(() => this.#closing.delete(ending));
  }
}
