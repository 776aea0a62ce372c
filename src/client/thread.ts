// A thread of a server as an object: its turns, and what is told of it.

import type { SendOptions } from './calls.ts';
import type { Heddle } from './heddle.ts';
import { isOfThread, type News } from './news.ts';
import type { Subscription } from './subscription.ts';
import { Turn, type TurnOptions } from './turn.ts';
import type { RequestParams, RequestResult } from './typed.ts';

export type ThreadParams = RequestParams<'thread/start'>;

/** `afterEventSeq`: everything behind that event is told again; read it from `events`. */
export type ResumeParams = Omit<RequestParams<'thread/resume'>, 'threadId'> & { readonly resume: string };

type Started = RequestResult<'thread/start'> | RequestResult<'thread/resume'>;
type Input = RequestParams<'turn/start'>['input'];

export class Thread {
  readonly id: string;
  /** As it was when it was started or resumed. */
  readonly started: Started;
  readonly #client: Heddle;
  #early: Subscription<News> | undefined;

  /** `early`: what was told before anybody could ask for `events`. */
  constructor(client: Heddle, started: Started, early?: Subscription<News>) {
    this.#client = client;
    this.started = started;
    this.id = started.thread.id;
    this.#early = early;
  }

  /**
   * Everything that is told of this thread, once and in order, over all connections. `client/gap` stands where events are
   * missing; it ends behind `client/lost` and `thread/deleted`. Of a thread resumed with `afterEventSeq` the first call gives what was told since.
   */
  events(): AsyncIterableIterator<News> {
    const early = this.#early;
    this.#early = undefined;
    return early ?? eventsOf(this.#client, this.id);
  }

  /** Starts a turn; a text is one input. */
  turn(input: string | Input, options: TurnOptions = {}): Turn {
    const inputs: Input = typeof input === 'string' ? [{ type: 'text', text: input }] : input;
    return new Turn(this.#client, { ...options, threadId: this.id, input: inputs });
  }

  /** The connection is told nothing more of it; turns go on. */
  async leave(): Promise<void> {
    await this.#early?.return();
    await this.#client.request('thread/unsubscribe', { threadId: this.id });
  }
}

function eventsOf(client: Heddle, threadId: string): Subscription<News> {
  return client.subscribe(
    (news) => isOfThread(news, threadId),
    ({ method }) => method === 'client/lost' || method === 'thread/deleted',
  );
}

export async function startThread(
  client: Heddle,
  params: ThreadParams | ResumeParams,
  places: { readonly seqOf: (threadId: string) => number | undefined },
  options?: SendOptions,
): Promise<Thread> {
  if (!('resume' in params)) return new Thread(client, await client.request('thread/start', params, options));
  const { resume: threadId, ...rest } = params;
  const isReplay = typeof rest.afterEventSeq === 'number';
  // Who listens already goes on where it is, and misses nothing.
  const afterEventSeq = rest.afterEventSeq ?? places.seqOf(threadId);
  const early = isReplay ? eventsOf(client, threadId) : undefined;
  try {
    return new Thread(
      client,
      await client.request('thread/resume', { ...rest, threadId, afterEventSeq }, options),
      early,
    );
  } catch (error) {
    await early?.return();
    throw error;
  }
}
