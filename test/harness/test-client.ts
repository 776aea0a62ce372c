// A client for tests: keeps everything it receives, waits for it without sleeping, and answers only what it is told to.

import type { z } from 'zod';
import type { ParamsInput, Request } from '../../src/rpc/declare.ts';
import type { Wire } from './wires.ts';

/** A message as it came; members that are not there are undefined. */
export interface Received {
  // biome-ignore lint/suspicious/noExplicitAny: tests look at messages of every shape.
  readonly [member: string]: any;
}

/** A request of the server. */
export interface Question {
  readonly id: number;
  readonly method: string;
  readonly params: Received;
  answer(result: unknown): void;
  refuse(error: unknown): void;
}

export class RequestFailed extends Error {
  readonly code: number;
  readonly data: Received;

  constructor(method: string, error: Received) {
    super(`${method}: ${error.message}`);
    this.code = error.code;
    this.data = error.data;
  }
}

export interface Introduction {
  readonly experimentalApi?: boolean;
  readonly optOut?: readonly string[];
  readonly name?: string;
  /** Where relative folders of the client begin. */
  readonly cwd?: string;
  /** Of its own command line, `key=value` each. */
  readonly settings?: readonly string[];
}

type Match = (message: Received) => boolean;

/** After this long a wait has failed; no test depends on the figure. */
const LIMIT_MS = 60_000;

export class TestClient {
  readonly wire: Wire;
  /** Everything received so far, in order. */
  readonly transcript: Received[] = [];
  readonly #waits = new Set<() => void>();
  #nextId = 1;
  #isClosed = false;

  constructor(wire: Wire) {
    this.wire = wire;
    wire.onFrame = (text) => {
      this.transcript.push(JSON.parse(text) as Received);
      for (const look of [...this.#waits]) look();
    };
    void wire.closed.then(() => {
      this.#isClosed = true;
      for (const look of [...this.#waits]) look();
    });
  }

  async initialize({
    experimentalApi = false,
    optOut = [],
    name = 'test',
    ...heddle
  }: Introduction = {}): Promise<Received> {
    const result = await this.request('initialize', {
      clientInfo: { name, title: null, version: '1' },
      capabilities: { experimentalApi, optOutNotificationMethods: optOut },
      ...(Object.keys(heddle).length > 0 ? { heddle } : {}),
    });
    this.notify('initialized');
    return result;
  }

  /** Sends a request and gives its id, for tests that look at the answer later. */
  post(method: string, params?: unknown): number {
    const id = this.#nextId++;
    this.send({ id, method, params });
    return id;
  }

  async request(method: string, params?: unknown): Promise<Received> {
    return this.answerTo(this.post(method, params), method);
  }

  /** A request of our own methods, with its params checked by the compiler. */
  call<P extends z.ZodType, R extends z.ZodType>(
    method: Request<P, R>,
    params: ParamsInput<Request<P, R>>,
  ): Promise<Received> {
    return this.request(method.method, params);
  }

  async answerTo(id: number, method = 'a request'): Promise<Received> {
    const answer = await this.message((each) => each.id === id && each.method === undefined, `the answer to ${method}`);
    if (answer.error) throw new RequestFailed(method, answer.error);
    return answer.result;
  }

  /** The error that a request gets; fails when it succeeds. */
  async refusal(method: string, params?: unknown): Promise<RequestFailed> {
    const outcome = await this.request(method, params).catch((error: unknown) => error);
    if (outcome instanceof RequestFailed) return outcome;
    if (outcome instanceof Error) throw outcome;
    throw new Error(`${method} was not refused: ${JSON.stringify(outcome).slice(0, 500)}`);
  }

  notify(method: string, params: unknown = {}): void {
    this.send({ method, params });
  }

  send(message: object): void {
    this.wire.send(JSON.stringify(message));
  }

  /** The first notification of this kind, received already or to come. */
  notified(method: string, match: Match = () => true): Promise<Received> {
    return this.message((each) => each.method === method && each.id === undefined && match(each.params), method).then(
      (each) => each.params,
    );
  }

  /** The first question of this kind, received already or to come. */
  async asked(match: Match = () => true): Promise<Question> {
    const { id, method, params } = await this.message(
      (each) => each.method !== undefined && each.id !== undefined && match(each.params),
      'a question of the server',
    );
    return {
      id,
      method,
      params,
      answer: (result) => this.send({ id, result }),
      refuse: (error) => this.send({ id, error }),
    };
  }

  /** The first message that matches, received already or to come. Rejects when the connection ends without it. */
  message(match: Match, what = 'a message'): Promise<Received> {
    let from = 0;
    return new Promise((resolve, reject) => {
      const settle = (work: () => void) => {
        clearTimeout(limit);
        this.#waits.delete(look);
        work();
      };
      const look = () => {
        for (; from < this.transcript.length; from += 1) {
          const each = this.transcript[from]!;
          if (match(each)) return settle(() => resolve(each));
        }
        if (this.#isClosed) settle(() => reject(new Error(`the connection ended before ${what} came`)));
      };
      const limit = setTimeout(
        () => settle(() => reject(new Error(`${what} did not come; got ${this.summary()}`))),
        LIMIT_MS,
      );
      this.#waits.add(look);
      look();
    });
  }

  /** Settles when so many messages have come in all. */
  async count(total: number): Promise<readonly Received[]> {
    await this.message(() => this.transcript.length >= total, `message number ${total}`);
    return this.transcript;
  }

  notifications(method?: string): Received[] {
    return this.transcript.filter((each) => each.id === undefined && (method === undefined || each.method === method));
  }

  /** The params of all notifications of one kind so far. */
  news(method: string): Received[] {
    return this.notifications(method).map((each) => each.params);
  }

  questions(): Received[] {
    return this.transcript.filter((each) => each.id !== undefined && each.method !== undefined);
  }

  /** Settles when everything the server had to say before has been received. */
  async settled(): Promise<void> {
    await this.request('thread/loaded/list', {});
  }

  /** The methods received last, for the messages of failed waits. */
  summary(): string {
    return this.transcript
      .slice(-30)
      .map((each) => each.method ?? (each.error ? `error: ${each.error.message}` : 'answer'))
      .join(', ');
  }
}
