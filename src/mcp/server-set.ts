// The connections of one owner, a thread or everybody who has none: at most one to each configured server.

import { type Closable, closeOnce } from '../base/close.ts';
import { AppError, isAppError } from '../base/errors.ts';
import { deferred, unlessAborted } from '../base/signals.ts';
import type { McpServer } from '../config/mcp-servers.ts';
import type { Table } from '../config/tables.ts';
import type { CallAnswer, CallOptions, ToolCall } from './call.ts';
import { type ConnectionParts, McpConnection } from './connection.ts';
import type { ElicitationAnswer } from './elicitation.ts';
import type { Elicited } from './open-questions.ts';
import { failuresInRow, retryAtMs } from './revival.ts';
import { type OfferedTool, offeredTools } from './tool-names.ts';

export interface SetOwner {
  /** Where programs run, absolute. */
  cwd(): string;
  /** Servers of the owner alone, over those that are configured, as settings. */
  own(): Table | undefined;
  /** A connection has another state, or says so again. */
  tell(connection: McpConnection): void;
  /** Asks people as `Elicit` does. */
  elicit(server: string, elicited: Elicited): Promise<ElicitationAnswer>;
  /** Nothing of the set is left. */
  closed(): void;
}

export interface SetParts extends Omit<ConnectionParts, 'cwd' | 'elicit' | 'changed' | 'before'> {
  /** As they are configured now, by name. Rejects as *invalid* while the configuration cannot be used. */
  readonly configured: (own?: Table) => Promise<readonly McpServer[]>;
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
  #isAdopted = false;
  /** Settles when the configuration has been read the next time. */
  #adoption = deferred();

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

  /**
   * Connected. One that has failed is connected anew, unless that was tried a moment ago. Rejects as *internal* when there is no
   * such server, it is switched off, or not there.
   */
  async connection(name: string, signal: AbortSignal): Promise<McpConnection> {
    await unlessAborted(this.start(), signal);
    const entry = this.#entries.find(({ server }) => server.name === name);
    if (!entry) throw new AppError('internal', `unknown MCP server '${name}'`, { server: name });
    const connection = this.#revived(entry);
    if (!connection) throw new AppError('internal', `MCP server '${name}' is disabled`, { server: name });
    await unlessAborted(connection.begun, signal);
    const { state } = connection;
    if (state.kind === 'ready') return connection;
    const why = state.kind === 'failed' ? state.error : 'it was closed';
    throw new AppError('internal', `failed to get client: MCP startup failed: ${why}${this.#next(connection)}`, {
      server: name,
    });
  }

  /** Settles once the configuration has no such server, or it is switched off there. */
  async gone(name: string): Promise<void> {
    await this.start();
    const isThere = () => this.#entries.some(({ server }) => server.name === name && server.isEnabled);
    while (!this.#isAdopted || isThere()) await this.#adoption.promise;
  }

  /**
   * Calls a tool; a server that was started anew and so refuses us is called once more. Rejects as `connection` does, also for a
   * tool that is not to be called.
   */
  async call(name: string, call: ToolCall, options: CallOptions): Promise<CallAnswer> {
    const { signal } = options;
    const connection = await this.connection(name, signal);
    if (!connection.server.isToolEnabled(call.tool))
      throw new AppError('internal', `tool '${call.tool}' of MCP server '${name}' is disabled`, { server: name });
    const answer = await connection.call(call, options);
    const isForgotten = answer.kind === 'refused' && answer.isForgotten;
    return isForgotten ? (await this.connection(name, signal)).call(call, options) : answer;
  }

  /** What only reads is asked once more where the connection broke meanwhile. Rejects as `connection` does, or as `work`. */
  async read<T>(name: string, signal: AbortSignal, work: (connection: McpConnection) => Promise<T>): Promise<T> {
    const connection = await this.connection(name, signal);
    try {
      return await work(connection);
    } catch (error) {
      const isBroken = connection.state.kind === 'failed' || isAppError(error, 'unavailable');
      if (!isBroken || signal.aborted) throw error;
      return work(await this.connection(name, signal));
    }
  }

  /** A server that is there now has resources. */
  get hasResources(): boolean {
    return this.#entries.some(
      ({ connection }) =>
        connection?.state.kind === 'ready' && connection.identity.capabilities?.resources !== undefined,
    );
  }

  /** Tools of the servers that are there now, or were and may come back. */
  offered(): readonly OfferedTool[] {
    return offeredTools(
      this.#entries.flatMap(({ server, connection }) =>
        connection && isOffered(connection) ? [{ server: server.name, tools: connection.tools }] : [],
      ),
    );
  }

  /**
   * Gives servers that are starting a moment, those that are required or `needed` by name all their time. Rejects as *unavailable* naming the
   * required ones that failed, as *cancelled* when the signal aborts.
   */
  async settled(signal: AbortSignal, needed: readonly string[] = []): Promise<void> {
    await unlessAborted(this.start(), signal);
    for (const entry of this.#entries) this.#revived(entry);
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
    const configured = await this.#parts.configured(this.#owner.own());
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
    this.#isAdopted = true;
    this.#adoption.resolve();
    this.#adoption = deferred();
    const grace = deferred();
    this.#grace = grace;
    this.#parts.clock.timer(GRACE_MS, grace.resolve);
  }

  #stays({ server, state }: McpConnection, wanted: McpServer): boolean {
    return server.digest === wanted.digest && (state.kind === 'starting' || state.kind === 'ready');
  }

  /** The connection of the entry, or one in its place where it has failed and may be tried again. */
  #revived(entry: SetEntry): McpConnection | undefined {
    const { server, connection } = entry;
    if (connection?.state.kind !== 'failed') return connection;
    const { failure } = connection.state;
    if (!failure || this.#isClosed || this.#parts.clock.elapsed() < retryAtMs(failure)) return connection;
    const before = { tools: connection.tools, failures: failuresInRow(failure) };
    const again = this.#connect(server, before);
    this.#entries = this.#entries.map((each) => (each.server === server ? { server, connection: again } : each));
    this.#end(connection);
    return again;
  }

  /** When the next use may help, for people. */
  #next({ state }: McpConnection): string {
    if (state.kind !== 'failed' || !state.failure) return '';
    const seconds = Math.ceil((retryAtMs(state.failure) - this.#parts.clock.elapsed()) / 1000);
    return seconds > 0 ? ` (not tried again for ${seconds} s)` : '';
  }

  #connect(server: McpServer, before?: NonNullable<ConnectionParts['before']>): McpConnection {
    const connection: McpConnection = new McpConnection(server, {
      ...this.#parts,
      cwd: this.#owner.cwd(),
      elicit: (elicited) => this.#owner.elicit(server.name, elicited),
      changed: (changed) => this.#owner.tell(changed),
      ...(before ? { before } : {}),
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

/** Calls of tools that were there connect anew; those of a server that never was are not known. */
function isOffered({ state }: McpConnection): boolean {
  return (
    state.kind === 'ready' || state.kind === 'starting' || (state.kind === 'failed' && state.failure !== undefined)
  );
}
