// Questions of MCP servers to those who listen to a thread: they stand as long as the server waits, and the first answer counts.

import { elicitationRequest, serverRequestResolved } from '../approvals/requests.ts';
import { mayElicit } from '../approvals/rules.ts';
import type { Clock } from '../base/clock.ts';
import { deferred, onAbort } from '../base/signals.ts';
import { DECLINED, type Elicitation, type ElicitationAnswer, readElicitationAnswer } from '../mcp/elicitation.ts';
import type { ThreadId, TurnId } from '../model/ids.ts';
import type { ThreadSettings, ThreadStatus } from '../model/thread.ts';
import type { Notification, ParamsInput } from '../rpc/declare.ts';
import { notificationFrame, type ResponseMessage, requestFrame } from '../rpc/message.ts';
import type { Subscriber } from './cursor.ts';
import { Frame } from './frame.ts';
import { threadStatusChanged } from './notifications.ts';

export interface ElicitationParts {
  readonly clock: Clock;
  readonly validates: boolean;
  readonly tools: {
    /** Gives ids from the counter of the process. */
    readonly broker: { newRequestId(): number };
    readonly approvalLifeMs: () => number;
  };
}

/** The thread whose connection the server has. */
export interface AskedThread {
  readonly threadId: ThreadId;
  settings(): ThreadSettings;
  activeTurnId(): TurnId | undefined;
  /** With the questions here among what it waits for. */
  status(): ThreadStatus;
  subscribers(): readonly Subscriber[];
}

interface Standing {
  readonly requestId: number;
  readonly question: Elicitation;
  readonly params: ParamsInput<typeof elicitationRequest>;
  /** Who was asked and is still there. */
  readonly asked: Map<Subscriber, () => void>;
  end(answer: ElicitationAnswer): void;
}

export class Elicitations {
  readonly #parts: ElicitationParts;
  readonly #thread: AskedThread;
  readonly #standing = new Set<Standing>();

  constructor(parts: ElicitationParts, thread: AskedThread) {
    this.#parts = parts;
    this.#thread = thread;
  }

  get areStanding(): boolean {
    return this.#standing.size > 0;
  }

  /**
   * Asks everyone who may answer. Declined where the thread is never to ask, nobody is there, the last one leaves, the first answer
   * is none, or time runs out. Never rejects.
   */
  async ask(server: string, question: Elicitation, signal: AbortSignal): Promise<ElicitationAnswer> {
    const { clock, tools } = this.#parts;
    const listeners = this.#thread.subscribers().filter(mayAnswer);
    if (!mayElicit(this.#thread.settings().approvalPolicy) || listeners.length === 0 || signal.aborted) return DECLINED;
    const ended = deferred<ElicitationAnswer>();
    const standing: Standing = {
      requestId: tools.broker.newRequestId(),
      question,
      params: this.#paramsOf(server, question),
      asked: new Map(),
      end: ended.resolve,
    };
    this.#standing.add(standing);
    if (this.#standing.size === 1) this.#tellStatus();
    for (const listener of listeners) this.#askOne(standing, listener);
    const release = [
      onAbort(signal, () => ended.resolve(DECLINED)),
      clock.timer(tools.approvalLifeMs(), () => ended.resolve(DECLINED)),
    ];
    const answer = await ended.promise;
    for (const each of release) each();
    this.#forget(standing);
    return answer;
  }

  /** Shows what stands to one who has just joined. */
  join(subscriber: Subscriber): void {
    if (mayAnswer(subscriber)) for (const standing of this.#standing) this.#askOne(standing, subscriber);
  }

  /** One who no longer listens is no longer asked; where that was the last one, nobody is. */
  leave(subscriber: Subscriber): void {
    for (const standing of this.#standing) {
      const free = standing.asked.get(subscriber);
      if (!free) continue;
      free();
      subscriber.forget(standing.requestId);
      this.#lose(standing, subscriber);
    }
  }

  /** Tells everyone who listens something that is not part of the history. */
  tell<N extends Notification>(notification: N, params: ParamsInput<N>): void {
    if (this.#parts.validates) notification.params().parse(params);
    const { method, experimental } = notification;
    const text = notificationFrame(method, JSON.stringify(params), this.#parts.clock.now());
    const frame = new Frame(method, text, { experimental });
    for (const subscriber of this.#thread.subscribers()) subscriber.send([frame]);
  }

  #paramsOf(serverName: string, question: Elicitation): ParamsInput<typeof elicitationRequest> {
    const turnId = this.#thread.activeTurnId() ?? null;
    const place = { threadId: this.#thread.threadId, turnId, serverName, environmentId: null, _meta: null };
    const params = { ...place, ...question };
    if (this.#parts.validates) elicitationRequest.params().parse(params);
    return params;
  }

  #askOne(standing: Standing, to: Subscriber): void {
    const { requestId, question, params, asked } = standing;
    if (asked.has(to)) return;
    const answered = (answer: ResponseMessage) =>
      standing.end((answer.error === undefined && readElicitationAnswer(question, answer.result)) || DECLINED);
    const call = { requestId, to: to.id, sent: () => {}, answered };
    const text = requestFrame(String(requestId), elicitationRequest.method, params, false);
    const free = onAbort(to.signal, () => this.#lose(standing, to));
    asked.set(to, free);
    to.send([new Frame(elicitationRequest.method, text, { call })]);
  }

  #lose({ asked, end }: Standing, subscriber: Subscriber): void {
    asked.delete(subscriber);
    if (asked.size === 0) end(DECLINED);
  }

  #forget(standing: Standing): void {
    const { requestId, asked } = standing;
    this.#standing.delete(standing);
    for (const [subscriber, free] of asked) {
      free();
      subscriber.forget(requestId);
    }
    this.tell(serverRequestResolved, { threadId: this.#thread.threadId, requestId });
    if (this.#standing.size === 0) this.#tellStatus();
  }

  #tellStatus(): void {
    this.tell(threadStatusChanged, { threadId: this.#thread.threadId, status: this.#thread.status() });
  }
}

const mayAnswer = ({ principal, signal }: Subscriber): boolean =>
  principal.permissions.has('approval:resolve') && !signal.aborted;
