// One turn as an object: what happens in it as a stream, and how it ended.

import { type Deferred, deferred } from '../base/signals.ts';
import type { SendOptions } from './calls.ts';
import { failure, type RequestError } from './errors.ts';
import type { Heddle, Tap } from './heddle.ts';
import { isOfThread, type News, turnIdOf } from './news.ts';
import { MAX_WAITING, Subscription } from './subscription.ts';
import type { RequestParams, RequestResult } from './typed.ts';

type TurnView = RequestResult<'turn/start'>['turn'];
type ItemView = News<'item/completed'>['params']['item'];

/** Settings of the turn, and of its request. */
export type TurnOptions = Omit<RequestParams<'turn/start'>, 'threadId' | 'input'> & SendOptions;

export class Turn implements AsyncIterable<News> {
  /** The turn as it began, when the server has accepted it. Whoever does not ask is not bothered by its failure. */
  readonly started: Promise<TurnView>;
  /** The turn as it ended, whatever its status. Rejects when it could not be started, or its end cannot be learned. */
  readonly completed: Promise<TurnView>;
  readonly #client: Heddle;
  readonly #threadId: string;
  readonly #completed: Deferred<TurnView> = deferred();
  readonly #events: Subscription<News>;
  readonly #untap: () => void;
  #id: string | undefined;
  /** Told before the server's answer said which turn it is. */
  #early: News[] | undefined = [];

  constructor(
    client: Heddle,
    { signal, timeoutMs, idempotencyKey, ...params }: RequestParams<'turn/start'> & SendOptions,
  ) {
    this.#client = client;
    this.#threadId = params.threadId;
    this.#events = new Subscription<News>(() => {});
    const tap: Tap = { news: (news) => this.#heard(news), over: (error) => this.#failed(error ?? closed()) };
    this.#untap = client.tap(tap);
    this.completed = this.#completed.promise;
    const options = {
      ...(signal ? { signal } : {}),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    };
    const answered = ({ turn }: RequestResult<'turn/start'>) => this.#accepted(turn.id);
    this.started = client.send('turn/start', params, options, answered).then(({ turn }) => turn);
    const mayBeOld = idempotencyKey !== undefined || typeof params.clientUserMessageId === 'string';
    this.started
      .then(({ id }) => (mayBeOld ? this.#lookUp(id) : undefined))
      .catch((error: unknown) => this.#failed(error));
    this.completed.catch(() => {});
  }

  /** Known when the turn has been accepted. */
  get id(): string | undefined {
    return this.#id;
  }

  /** Everything that is told of this turn, up to its `turn/completed`; for one reader. A `client/gap` stands where events are missing. */
  [Symbol.asyncIterator](): AsyncIterator<News> {
    return this.#events;
  }

  /** The items of the turn, each when it is complete; in place of the events. */
  async *items(): AsyncGenerator<ItemView, void> {
    for await (const news of this) if (news.method === 'item/completed') yield news.params.item;
  }

  /**
   * The pieces of the assistant's messages as they come; in place of the events. When the turn ended during a cut, what the server
   * no longer keeps in pieces is in the items alone.
   */
  async *text(): AsyncGenerator<string, void> {
    for await (const news of this) if (news.method === 'item/agentMessage/delta') yield news.params.delta;
  }

  /** Stops it; settles when the server has. */
  async interrupt(): Promise<void> {
    const { id } = await this.started;
    await this.#client.request('turn/interrupt', { threadId: this.#threadId, turnId: id });
  }

  /** More input for the turn while it runs. */
  async steer(input: RequestParams<'turn/steer'>['input'], options?: SendOptions): Promise<void> {
    const { id } = await this.started;
    await this.#client.request('turn/steer', { threadId: this.#threadId, expectedTurnId: id, input }, options);
  }

  #accepted(id: string): void {
    this.#id = id;
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const news of early) this.#heard(news);
  }

  /** The caller's own key may name a turn that was over long ago, of which nothing will be told. */
  async #lookUp(id: string): Promise<void> {
    const { thread } = await this.#client.request('thread/read', { threadId: this.#threadId, includeTurns: true });
    const turn = thread.turns.find((each) => each.id === id);
    if (turn && turn.status !== 'inProgress') this.#ended(turn);
  }

  #heard(news: News): void {
    if (!isOfThread(news, this.#threadId)) return;
    if (news.method === 'client/lost') this.#failed(news.params.error);
    else if (news.method === 'thread/deleted') this.#failed(failure('notFound', 'the thread was deleted'));
    else if (!this.#early) this.#heardOfThread(news);
    else if (this.#early.length < MAX_WAITING) this.#early.push(news);
    else this.#failed(failure('overloaded', `more than ${MAX_WAITING} messages came before the answer`));
  }

  #heardOfThread(news: News): void {
    const isGap = news.method === 'client/gap';
    if (!isGap && turnIdOf(news) !== this.#id) return;
    this.#events.push(news);
    if (news.method === 'turn/completed') this.#ended(news.params.turn);
    const found = isGap ? news.params.thread.turns.find(({ id }) => id === this.#id) : undefined;
    if (found && found.status !== 'inProgress') this.#ended(found);
  }

  #ended(turn: TurnView): void {
    this.#untap();
    this.#completed.resolve(turn);
    this.#events.end();
  }

  #failed(error: unknown): void {
    this.#untap();
    this.#completed.reject(error);
    this.#events.end(error);
  }
}

const closed = (): RequestError =>
  failure('unavailable', 'the client was closed before the turn ended; the turn goes on');
