// The client library: one object for a server, whatever connections come and go below it.

import type { Closable } from '../base/close.ts';
import { closeOnce } from '../base/close.ts';
import type { AppError } from '../base/errors.ts';
import type { initialize } from '../handshake/methods.ts';
import type { Result } from '../rpc/declare.ts';
import type { NotificationMessage } from '../rpc/message.ts';
import { Calls, type SendOptions } from './calls.ts';
import type { ClientOptions } from './client.ts';
import type { Dial } from './dial.ts';
import { asRequestError, failure, type RequestError } from './errors.ts';
import { Link, type LinkState } from './link.ts';
import { Listeners } from './listeners.ts';
import { Listening } from './listening.ts';
import { type Mutation, Mutations } from './mutations.ts';
import { type News, type NewsName, newsOf } from './news.ts';
import { type ClientSettings, type ResolvedSettings, resolved } from './options.ts';
import { OverloadGate } from './overload.ts';
import { HandlerTable, type QuestionHandler } from './question-handlers.ts';
import type { Refusal } from './questions.ts';
import { Subscription } from './subscription.ts';
import { type ResumeParams, startThread, type Thread, type ThreadParams } from './thread.ts';
import { waitingClock } from './timing.ts';
import type { QuestionName } from './typed.ts';
import {
  type AnyRequest,
  QUESTIONS,
  REQUESTS,
  type RequestName,
  type RequestParams,
  type RequestResult,
} from './typed.ts';

export interface ClientEvents {
  /** Everything that the server tells, once and in order, as it came. */
  notification: {
    readonly method: string;
    readonly params: unknown;
    readonly seq?: number;
    readonly emittedAtMs?: number;
  };
  /** Text that a server started by this client wrote beside the protocol. */
  stderr: string;
  state: { readonly state: LinkState; readonly error?: RequestError };
  /** A request that changes something is in another state. */
  mutation: Mutation;
  /** A question of the server was refused without or against its handler. */
  refused: Refusal;
  /** Something that could not be read, or that this version does not know. */
  diagnostic: string;
  gap: News<'client/gap'>['params'];
  lost: News<'client/lost'>['params'];
}

/** Takes news as they come, before anything behind them is read. */
export interface Tap {
  news(news: News): void;
  /** With the reason, unless the program itself has closed the client. */
  over(error?: RequestError): void;
}

export class Heddle implements Closable {
  readonly #settings: ResolvedSettings;
  readonly #listeners = new Listeners<ClientEvents>();
  readonly #handlers: HandlerTable;
  readonly #taps = new Set<Tap>();
  readonly #link: Link;
  readonly #mutations = new Mutations((mutation) => this.#listeners.emit('mutation', mutation));
  readonly #listening: Listening;
  readonly #calls: Calls;
  #server: Result<typeof initialize> | undefined;

  constructor(dial: Dial, settings: ClientSettings) {
    this.#settings = resolved(settings, dial);
    const { maxPendingRequests, requestTimeoutMs, connectTimeoutMs, reconnect } = this.#settings;
    this.#handlers = new HandlerTable(this.#settings.onServerRequest);
    const gate = new OverloadGate(waitingClock, this.#settings.maxOverloadRetries);
    this.#listening = new Listening({
      gate,
      clock: waitingClock,
      timeoutMs: requestTimeoutMs,
      link: () => this.#link,
      gap: (gap) => this.#gap(gap),
      lost: (threadId, error) => this.#lost(threadId, error),
    });
    this.#link = new Link({
      dial,
      introduction: this.#introduction(),
      reconnect,
      connectTimeoutMs,
      clock: waitingClock,
      stderr: (text) => this.#listeners.emit('stderr', text),
      restore: (client, signal) => this.#listening.restore(client, signal),
      changed: (state, error) => this.#changed(state, error),
    });
    this.#calls = new Calls({
      link: this.#link,
      gate,
      clock: waitingClock,
      mutations: this.#mutations,
      maxPending: maxPendingRequests,
      timeoutMs: requestTimeoutMs,
      answered: (method, params, result) => this.#answered(method, params, result),
    });
  }

  /** Connects and shakes hands, tried once; `connect` calls it. */
  async open(): Promise<void> {
    this.#server = (await this.#link.open()).server;
  }

  /** What the server said of itself at first. */
  get server(): Result<typeof initialize> {
    if (!this.#server) throw failure('notInitialized', 'the handshake has not been made');
    return this.#server;
  }

  get state(): LinkState {
    return this.#link.state;
  }

  /** Requests that change something and whose end is not known, oldest first. */
  get mutations(): readonly Mutation[] {
    return this.#mutations.list();
  }

  on<E extends keyof ClientEvents>(event: E, listener: (event: ClientEvents[E]) => void): () => void {
    return this.#listeners.on(event, listener);
  }

  /** Answers questions of this method from now on; the returned function ends that. */
  onServerRequest<M extends QuestionName>(method: M, handler: QuestionHandler<M>): () => void {
    return this.#handlers.set(method, handler);
  }

  /**
   * Asks the server. What changes something gets an idempotency key; after a cut it is sent again with that key, and so is what
   * an overloaded server refuses. Rejects with a `RequestError` with `code`, `data` and, of changes, `state` and `idempotencyKey`.
   */
  request<M extends RequestName>(method: M, params: RequestParams<M>, options?: SendOptions): Promise<RequestResult<M>>;
  request<D extends AnyRequest>(
    method: D,
    params: D extends { readonly method: infer M extends RequestName } ? RequestParams<M> : never,
    options?: SendOptions,
  ): Promise<D extends { readonly method: infer M extends RequestName } ? RequestResult<M> : never>;
  request(method: string | AnyRequest, params: unknown, options?: SendOptions): Promise<unknown> {
    return this.send(typeof method === 'string' ? method : method.method, params, options);
  }

  /** As `request`; `answered` is called before the frame behind the answer is read. */
  async send<R = unknown>(
    method: string,
    params: unknown,
    options?: SendOptions,
    answered?: (result: R) => void,
  ): Promise<R> {
    const declared = REQUESTS.get(method);
    if (!declared || declared.isHandshake) throw failure('unknownMethod', `unknown method: ${method}`);
    return (await this.#calls.request(declared, params, options, answered)) as R;
  }

  /**
   * What the server tells from now on, once and in order, over all connections; with names, only those. Ends with the client,
   * throws when there is no way back to the server, or when its reader falls too far behind.
   */
  notifications<M extends NewsName = NewsName>(...names: readonly M[]): AsyncIterableIterator<News<M>> {
    const wanted: ReadonlySet<string> = new Set(names);
    const isWanted = (news: News): boolean => names.length === 0 || wanted.has(news.method);
    return this.subscribe(isWanted) as AsyncIterableIterator<unknown> as AsyncIterableIterator<News<M>>;
  }

  /** The same with any choice, up to the one behind which nothing can come. */
  subscribe(isWanted: (news: News) => boolean, isLast: (news: News) => boolean = () => false): Subscription<News> {
    const subscription = new Subscription<News>(() => stop());
    const stop = this.tap({
      news: (news) => {
        if (!isWanted(news)) return;
        subscription.push(news);
        if (!isLast(news)) return;
        subscription.end();
        stop();
      },
      over: (error) => subscription.end(error),
    });
    return subscription;
  }

  /** The returned function takes it away. */
  tap(tap: Tap): () => void {
    if (this.#link.state === 'closed') queueMicrotask(() => tap.over());
    else this.#taps.add(tap);
    return () => this.#taps.delete(tap);
  }

  /** Starts a thread, or with `resume` goes on with one. */
  thread(params: ThreadParams | ResumeParams = {}, options?: SendOptions): Promise<Thread> {
    return startThread(this, params, { seqOf: (id) => this.#listening.seqOf(id) }, options);
  }

  /** Takes no more requests, waits for the answers to those under way, then leaves; a server it started has ended when this settles. */
  readonly close = closeOnce(async () => {
    await this.#calls.drain(this.#link.state === 'closed' ? 0 : this.#settings.drainMs);
    await this.#link.close();
  });

  #introduction(): ClientOptions {
    const { name, version, title, experimentalApi, optOut } = this.#settings;
    return {
      name,
      version,
      ...(title === undefined ? {} : { title }),
      experimentalApi,
      optOut,
      hooks: {
        notified: (message) => this.#notified(message),
        unreadable: (error) => this.#listeners.emit('diagnostic', `a frame could not be read: ${error.message}`),
        questions: {
          handlerOf: (method) => this.#handlers.get(method),
          shapes: QUESTIONS,
          refused: (refusal) => this.#listeners.emit('refused', refusal),
          watcher: this.#settings.questionWatcher,
        },
      },
    };
  }

  #notified(message: NotificationMessage): void {
    if (!this.#listening.admit(message)) return;
    const { kind: _kind, ...plain } = message;
    this.#listeners.emit('notification', plain);
    const news = newsOf(message);
    if (!news) {
      this.#listeners.emit(
        'diagnostic',
        `a notification that this version does not know: ${message.method.slice(0, 100)}`,
      );
      return;
    }
    if (news.method === 'turn/completed') this.#mutations.turnEnded(news.params.turn.id);
    this.#listening.heard(news);
    this.#tell(news);
  }

  #tell(news: News): void {
    for (const tap of [...this.#taps]) tap.news(news);
  }

  #answered(method: string, params: unknown, result: unknown): void {
    this.#listening.answered(method, params, result);
    if (method === 'thread/read' || method === 'thread/resume')
      this.#seen((result as RequestResult<'thread/read'>).thread.turns);
  }

  /** Turns whose end was told to nobody are found to be over. */
  #seen(turns: RequestResult<'thread/read'>['thread']['turns']): void {
    const isOpen = new Set(this.#mutations.list().map(({ turnId }) => turnId));
    for (const { id, status } of turns) if (status !== 'inProgress' && isOpen.has(id)) this.#mutations.turnEnded(id);
  }

  #gap(params: News<'client/gap'>['params']): void {
    for (const { id, status } of params.thread.turns) if (status !== 'inProgress') this.#mutations.turnEnded(id);
    this.#listeners.emit('gap', params);
    this.#tell({ method: 'client/gap', params });
  }

  #lost(threadId: string, error: RequestError): void {
    this.#listeners.emit('lost', { threadId, error });
    this.#tell({ method: 'client/lost', params: { threadId, error } });
  }

  #changed(state: LinkState, reason: AppError | undefined): void {
    const error = reason && asRequestError(reason);
    if (state === 'reconnecting') this.#listening.cut();
    this.#listeners.emit('state', error ? { state, error } : { state });
    if (state !== 'closed') return;
    this.#mutations.over();
    for (const tap of [...this.#taps]) tap.over(error);
    this.#taps.clear();
  }
}

/** Rejects with a `RequestError`, also for what `dialFor` throws. */
export async function connectWith(dialFor: () => Dial, settings: ClientSettings): Promise<Heddle> {
  try {
    const client = new Heddle(dialFor(), settings);
    await client.open();
    return client;
  } catch (error) {
    throw asRequestError(error);
  }
}
