// One connection to one MCP server: connected once, with a list of its tools that follows its changes, ended once.

import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { type Closable, closeOnce } from '../base/close.ts';
import { AppError, isAppError, messageOf } from '../base/errors.ts';
import { deferred, unlessAborted } from '../base/signals.ts';
import type { McpServer } from '../config/mcp-servers.ts';
import { type CallAnswer, type CallOptions, callTool, type ToolCall } from './call.ts';
import { inTime } from './in-time.ts';
import {
  listResources,
  listTools,
  type McpResources,
  type McpTool,
  type ResourceKind,
  type ResourcePage,
  resourcePage,
} from './inventory.ts';
import { type Caller, OpenCalls } from './open-calls.ts';
import { type Elicit, OpenQuestions } from './open-questions.ts';
import { openWire, type WireParts } from './open-wire.ts';
import type { Failure } from './revival.ts';
import { type McpWire, NEVER } from './wire.ts';

export interface ConnectionParts extends WireParts {
  /** Our own version, which servers are told. */
  readonly version: string;
  readonly elicit: Elicit;
  /** Told of each new state. */
  readonly changed: (connection: McpConnection) => void;
  /** What it stands in for: the tools that are offered until it has its own, and how many have failed in a row. */
  readonly before?: { readonly tools: readonly McpTool[]; readonly failures: number };
}

export type McpState =
  | { readonly kind: 'starting' }
  | { readonly kind: 'ready' }
  /** `needsLogin`: it does not take who we are. `failure`: it may come back; absent: not as it is configured now. */
  | { readonly kind: 'failed'; readonly error: string; readonly needsLogin: boolean; readonly failure?: Failure }
  | { readonly kind: 'cancelled' };

/** What it said of itself. */
export interface McpIdentity {
  readonly info: ReturnType<Client['getServerVersion']>;
  readonly capabilities: ReturnType<Client['getServerCapabilities']>;
}

type Library = typeof import('./library.ts');

const UNAUTHORIZED = 401;
/** A session that it does not know: servers say so with either. */
const NOT_FOUND = 404;
const BAD_REQUEST = 400;
/** Of the library, for what was asked when the wire ended. */
const CONNECTION_CLOSED = -32000;

export class McpConnection implements Closable {
  readonly server: McpServer;
  readonly #parts: ConnectionParts;
  readonly #life = new AbortController();
  /** Aborts when nobody is there any more who could be told an answer. */
  readonly #end = new AbortController();
  readonly #begun = deferred();
  #state: McpState = { kind: 'starting' };
  #readyAtMs: number | undefined;
  #library: Library | undefined;
  #client: Client | undefined;
  #wire: McpWire | undefined;
  #tools: readonly McpTool[] = [];
  #toolsError: string | undefined;
  readonly #calls = new OpenCalls();
  readonly #questions: OpenQuestions;
  #isListing = false;
  #listAgain = false;
  /** Of the request that was sent last. */
  #lastId: string | number = 0;

  /** Begins to connect at once. */
  constructor(server: McpServer, parts: ConnectionParts) {
    this.server = server;
    this.#parts = parts;
    this.#tools = parts.before?.tools ?? [];
    this.#questions = new OpenQuestions(parts.elicit, parts.clock);
    void this.#start();
  }

  get state(): McpState {
    return this.#state;
  }

  /** Settles when it is no longer *starting*; never rejects. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /** Those that are switched on, by name; what they were before the connection ended; none of one that never was ready. */
  get tools(): readonly McpTool[] {
    return this.#tools;
  }

  get toolsError(): string | undefined {
    return this.#state.kind === 'failed' ? this.#state.error : this.#toolsError;
  }

  get identity(): McpIdentity {
    return { info: this.#client?.getServerVersion(), capabilities: this.#client?.getServerCapabilities() };
  }

  /** Never rejects but as *unavailable* when it is not connected. */
  async call(call: ToolCall, options: CallOptions): Promise<CallAnswer> {
    const { library, client } = await this.#connected();
    const parts = {
      ...{ library, client, clock: this.#parts.clock, toolMs: this.server.toolMs },
      lastId: () => this.#lastId,
      endedBecause: () => this.#wire?.endedBecause,
      refused: (error: unknown) => this.#fail(error),
      isForgotten: (error: unknown) => this.#isForgotten(error),
      isAsking: () => this.#questions.areStanding,
    };
    return this.#calls.run(options, () => callTool(parts, call, options));
  }

  /** Rejects as *unavailable*, or with the server's own error. */
  async readResource(uri: string, meta: Readonly<Record<string, unknown>> | undefined, caller: Caller) {
    const { library, client } = await this.#connected();
    const params = { uri, ...(meta ? { _meta: meta } : {}) };
    return this.#read(caller, () =>
      client.request({ method: 'resources/read', params }, library.ReadResourceResultSchema, NEVER),
    );
  }

  /** Rejects as *unavailable*, or with the server's own error. */
  async resourcePage(kind: ResourceKind, cursor: string | undefined, caller: Caller): Promise<ResourcePage> {
    const { library, client } = await this.#connected();
    return this.#read(caller, () => resourcePage(library, client, kind, cursor));
  }

  async resources(): Promise<McpResources> {
    const { library, client } = await this.#connected();
    return this.#ask(listResources(library, client), this.server.toolMs);
  }

  readonly close = closeOnce(async () => {
    if (this.#state.kind === 'starting') this.#become({ kind: 'cancelled' });
    this.#life.abort(new AppError('cancelled', 'the connection to the MCP server was closed'));
    this.#end.abort();
    this.#begun.resolve();
    await this.#wire?.close();
  });

  async #connected(): Promise<{ readonly library: Library; readonly client: Client }> {
    await this.begun;
    if (this.#state.kind === 'ready' && this.#library && this.#client && !this.#life.signal.aborted)
      return { library: this.#library, client: this.#client };
    const why = this.#state.kind === 'failed' ? this.#state.error : 'the connection was closed';
    throw new AppError('unavailable', why, { server: this.server.name });
  }

  async #start(): Promise<void> {
    try {
      await this.#ask(this.#connect(), this.server.startupMs);
      this.#become({ kind: 'ready' });
    } catch (error) {
      this.#fail(error);
    }
  }

  async #connect(): Promise<void> {
    const library = await import('./library.ts');
    this.#life.signal.throwIfAborted();
    this.#library = library;
    const client = new library.Client(
      { name: 'heddle', version: this.#parts.version },
      { capabilities: { elicitation: { form: {}, url: {} } } },
    );
    this.#client = client;
    this.#listen(library, client);
    const wire = await openWire(library, this.server, this.#parts);
    this.#wire = wire;
    if (this.#life.signal.aborted) return void (await wire.close());
    const send = wire.send.bind(wire);
    wire.send = (message, options) => {
      if ('id' in message && 'method' in message) this.#lastId = message.id;
      return send(message, options);
    };
    await client.connect(wire, NEVER);
    if (client.getServerCapabilities()?.tools) await this.#list(library, client);
  }

  #listen(library: Library, client: Client): void {
    const { log } = this.#parts;
    client.onerror = (error) => log.debug({ err: error, server: this.server.name }, 'an MCP server misbehaves');
    client.onclose = () => {
      // Until it is there, what it was asked last fails too, and knows better why.
      if (this.#state.kind === 'ready')
        this.#fail(new AppError('unavailable', this.#wire?.endedBecause ?? 'it has ended'));
    };
    client.setNotificationHandler(library.ToolListChangedNotificationSchema, () => this.#listOnceMore(library, client));
    client.setRequestHandler(library.ElicitRequestSchema, ({ params }, { signal }) =>
      this.#questions.ask(params, this.#calls.now, [signal, this.#end.signal]),
    );
    client.setNotificationHandler(library.ElicitationCompleteNotificationSchema, ({ params }) =>
      this.#questions.complete(params.elicitationId),
    );
  }

  /** However often it says so, one list is asked for at a time. */
  async #listOnceMore(library: Library, client: Client): Promise<void> {
    this.#listAgain = true;
    if (this.#isListing || this.#state.kind !== 'ready') return;
    this.#isListing = true;
    try {
      while (this.#listAgain && this.#state.kind === 'ready') {
        this.#listAgain = false;
        await this.#ask(this.#list(library, client), this.server.startupMs);
      }
    } catch (error) {
      this.#toolsError = messageOf(error);
    } finally {
      this.#isListing = false;
    }
  }

  async #list(library: Library, client: Client): Promise<void> {
    const all = await listTools(library, client);
    this.#tools = all.filter(({ name }) => this.server.isToolEnabled(name));
    this.#toolsError = undefined;
  }

  #fail(error: unknown): void {
    if (this.#state.kind === 'failed' || this.#life.signal.aborted) return;
    this.#end.abort();
    const { code } = (error ?? {}) as { readonly code?: unknown };
    const needsLogin = code === UNAUTHORIZED;
    const ended = code === CONNECTION_CLOSED ? this.#wire?.endedBecause : undefined;
    const why = this.#isForgotten(error)
      ? 'it has forgotten us, and was perhaps started anew'
      : (ended ?? textOf(error));
    if (this.#readyAtMs === undefined) this.#tools = [];
    const mayComeBack = !needsLogin && !isAppError(error, 'invalid');
    this.#become({
      kind: 'failed',
      error: needsLogin ? 'it asks who we are (401)' : why,
      needsLogin,
      ...(mayComeBack ? { failure: this.#failure() } : {}),
    });
    void this.#wire?.close();
  }

  #lost(error: unknown): never {
    if (this.#isForgotten(error)) this.#fail(error);
    throw error;
  }

  #failure(): Failure {
    const { clock, before } = this.#parts;
    const atMs = clock.elapsed();
    const readyMs = this.#readyAtMs === undefined ? undefined : atMs - this.#readyAtMs;
    return { atMs, readyMs, earlier: before?.failures ?? 0 };
  }

  /** What was asked was not done: it knows nothing of the session in which we asked. */
  #isForgotten(error: unknown): boolean {
    if (this.#wire?.sessionId === undefined || !this.#library) return false;
    if (!(error instanceof this.#library.StreamableHTTPError)) return false;
    return error.code === NOT_FOUND || (error.code === BAD_REQUEST && /session/i.test(error.message));
  }

  #become(state: McpState): void {
    this.#state = state;
    if (state.kind === 'ready') this.#readyAtMs = this.#parts.clock.elapsed();
    this.#begun.resolve();
    this.#parts.changed(this);
  }

  #read<T>(caller: Caller, read: () => Promise<T>): Promise<T> {
    const { toolMs } = this.server;
    return this.#calls
      .run(caller, () => this.#ask(unlessAborted(read(), caller.signal), toolMs, () => this.#questions.areStanding))
      .catch((error: unknown) => this.#lost(error));
  }

  /** What the server is asked, for so long and no longer than the connection lives. */
  #ask<T>(answer: Promise<T>, ms: number, isAsking?: () => boolean): Promise<T> {
    return inTime(answer, ms, this.#parts.clock, this.#life.signal, isAsking);
  }
}

/** A connection that broke in the beginning is told by why, not by what waited for it. */
function textOf(error: unknown): string {
  return isAppError(error) ? error.message : messageOf(error).slice(0, 2_000);
}
