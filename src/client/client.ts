// A client of the protocol over any connection: typed requests, notifications as a stream, questions answered or refused.

import type { z } from 'zod';
import type { Closable } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import { initialize } from '../handshake/methods.ts';
import type { Notification, Request, Result } from '../rpc/declare.ts';
import type { NotificationMessage } from '../rpc/message.ts';
import { type CallOptions, Peer, type PeerOptions } from '../rpc/peer.ts';
import type { CloseReason, Connection } from '../transports/connection.ts';
import { type Answer, type QuestionParts, Questions } from './questions.ts';
import { Subscription } from './subscription.ts';

export interface ServerNotification {
  readonly method: string;
  readonly params: unknown;
}

/** What somebody who builds on a client is told while it reads, in the order of the frames. */
export interface ClientHooks {
  readonly notified?: (message: NotificationMessage) => void;
  readonly unreadable?: (error: AppError) => void;
  /** In place of `answers`. */
  readonly questions?: QuestionParts;
}

export interface RequestOptions<R> extends CallOptions {
  /** Called before the frame behind the answer is read. */
  readonly answered?: (result: R) => void;
}

export interface ClientOptions {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly experimentalApi?: boolean;
  /** Notifications that are not to be sent, by exact name. */
  readonly optOut?: readonly string[];
  /** By the method of the question. One without an answer here, or whose answer throws, is refused. */
  readonly answers?: Readonly<Record<string, Answer>>;
  readonly log?: PeerOptions['log'];
  readonly hooks?: ClientHooks;
}

const SILENT: PeerOptions['log'] = { debug: () => {}, error: () => {} };

/** Closing it closes the connection; the server's turns go on. */
export class Client implements Closable {
  readonly #peer: Peer;
  readonly #hooks: ClientHooks;
  readonly #subscriptions = new Set<Subscription<ServerNotification>>();
  readonly #questions: Questions;
  #server: Result<typeof initialize> | undefined;

  constructor(connection: Connection, options: Pick<ClientOptions, 'answers' | 'log' | 'hooks'> = {}) {
    const { answers = {}, hooks = {} } = options;
    this.#hooks = hooks;
    const handlerOf = (method: string) => (Object.hasOwn(answers, method) ? answers[method] : undefined);
    this.#questions = new Questions(hooks.questions ?? { handlerOf });
    this.#peer = new Peer(
      connection,
      {
        request: (message, reply) => void this.#questions.take(message, reply),
        notification: (message) => this.#notified(message),
        isStop: () => false,
        unreadable: (error) => hooks.unreadable?.(error),
      },
      { log: options.log ?? SILENT },
    );
    void connection.closed.then(() => this.#ended());
    void this.#peer.run();
  }

  /** What the server said of itself; throws before the handshake. */
  get server(): Result<typeof initialize> {
    if (!this.#server) throw new AppError('notInitialized', 'the handshake has not been made');
    return this.#server;
  }

  /** Never rejects. */
  get closed(): Promise<CloseReason> {
    return this.#peer.connection.closed;
  }

  /** The handshake, once, before everything else; `connect` makes it. */
  async initialize(options: ClientOptions): Promise<void> {
    const { name, version, title = null, experimentalApi = false, optOut = [] } = options;
    this.#server = await this.request(initialize, {
      clientInfo: { name, title, version },
      capabilities: { experimentalApi, optOutNotificationMethods: [...optOut] },
    });
    this.#peer.notify('initialized', {});
  }

  /** Rejects with the server's error, as *invalid* when the answer has not the agreed shape, as *unavailable* when the connection ends. */
  async request<P extends z.ZodType, R extends z.ZodType>(
    method: Request<P, R>,
    params: z.input<P>,
    options?: RequestOptions<z.output<R>>,
  ): Promise<z.output<R>> {
    const answer = await this.#peer.call(method.method, params, options);
    const parsed = method.result().safeParse(answer);
    if (!parsed.success) throw new AppError('invalid', `the answer to ${method.method} has not the agreed shape`);
    options?.answered?.(parsed.data);
    return parsed.data;
  }

  /**
   * Everything the server tells from now on, in order, until the connection ends or the loop is left. What has not been
   * taken yet waits in memory.
   */
  notifications(): AsyncIterableIterator<ServerNotification> {
    const subscription = new Subscription<ServerNotification>(() => this.#subscriptions.delete(subscription));
    this.#subscriptions.add(subscription);
    return subscription;
  }

  async close(): Promise<void> {
    await this.#peer.connection.close({ kind: 'ended', text: 'the client has finished' });
  }

  #notified(message: NotificationMessage): void {
    const { method, params } = message;
    if (method === 'serverRequest/resolved')
      this.#questions.resolved(((params ?? {}) as { requestId?: unknown }).requestId);
    this.#hooks.notified?.(message);
    for (const subscription of this.#subscriptions) subscription.push({ method, params });
  }

  #ended(): void {
    this.#questions.end();
    for (const subscription of this.#subscriptions) subscription.end();
  }
}

/** A client that has shaken hands. When that fails the connection is closed. */
export async function connect(connection: Connection, options: ClientOptions): Promise<Client> {
  const client = new Client(connection, options);
  try {
    await client.initialize(options);
    return client;
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** The params of a notification if it is the declared one and has its shape. */
export function paramsOf<P extends z.ZodType>(
  notification: ServerNotification,
  declared: Notification<P>,
): z.output<P> | undefined {
  return notification.method === declared.method ? declared.params().safeParse(notification.params).data : undefined;
}
