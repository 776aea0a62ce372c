// Questions of the server: each goes to its handler once, and where no good answer comes it is refused, never granted.

import { messageOf } from '../base/errors.ts';
import type { Request } from '../rpc/declare.ts';
import type { RawId, RequestMessage } from '../rpc/message.ts';
import type { Reply } from '../rpc/peer.ts';
import { refusalOf } from './refusals.ts';

/** Answers a question of the server. Its signal aborts when the answer is no longer wanted: it came from elsewhere, or the connection ended. */
export type Answer = (params: unknown, signal: AbortSignal) => unknown;

/** The signal aborts when the question was answered elsewhere, or the connection ended. */
export type QuestionWatcher = (method: string, params: unknown, signal: AbortSignal) => void;

export interface Refusal {
  readonly method: string;
  /** `params`: the question has not the agreed shape; `answer`: the handler's answer has not. */
  readonly because: 'noHandler' | 'threw' | 'params' | 'answer';
  /** For people. */
  readonly reason: string;
}

export interface QuestionParts {
  /** By method, asked anew for each question. */
  readonly handlerOf: (method: string) => Answer | undefined;
  /** The shapes that questions and answers are held against; default: none is. */
  readonly shapes?: ReadonlyMap<string, Pick<Request, 'params' | 'result'>> | undefined;
  readonly refused?: ((refusal: Refusal) => void) | undefined;
  /** In place of all that: it is shown every question, whatever its shape, and none is answered, not even refused. */
  readonly watcher?: QuestionWatcher | undefined;
}

interface Standing {
  readonly ending: AbortController;
  readonly answer: Promise<unknown>;
}

/** The questions of one connection. */
export class Questions {
  readonly #parts: QuestionParts;
  readonly #standing = new Map<RawId, Standing>();

  constructor(parts: QuestionParts) {
    this.#parts = parts;
  }

  /** A question that is repeated while it stands gets the answer of the first. */
  async take({ id, method, params }: RequestMessage, reply: Reply): Promise<void> {
    const standing = this.#standing.get(id) ?? this.#begin(id, method, params);
    try {
      reply.result(await standing.answer);
    } catch (error) {
      reply.error(error);
    } finally {
      if (this.#standing.get(id) === standing) this.#standing.delete(id);
    }
  }

  /** It has been answered elsewhere, or has lapsed. */
  resolved(requestId: unknown): void {
    this.#standing.get(JSON.stringify(requestId) ?? '')?.ending.abort();
  }

  /** The connection has ended. */
  end(): void {
    for (const { ending } of this.#standing.values()) ending.abort();
  }

  #begin(id: RawId, method: string, params: unknown): Standing {
    const ending = new AbortController();
    const standing = { ending, answer: this.#answer(method, params, ending.signal) };
    this.#standing.set(id, standing);
    return standing;
  }

  async #answer(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    const { watcher } = this.#parts;
    if (watcher) return this.#leave(method, () => watcher(method, params, signal));
    const handler = this.#parts.handlerOf(method);
    if (!handler) return this.#refuse(method, 'noHandler', 'no handler answers it here');
    const shape = this.#parts.shapes?.get(method);
    const asked = shape ? shape.params().safeParse(params) : { success: true, data: params };
    if (!asked.success) return this.#refuse(method, 'params', 'the question has not the agreed shape');
    let said: unknown;
    try {
      said = await handler(asked.data, signal);
    } catch (error) {
      return this.#refuse(method, 'threw', `the handler failed: ${messageOf(error)}`);
    }
    const answer = shape ? shape.result().safeParse(said) : { success: true, data: said };
    return answer.success
      ? answer.data
      : this.#refuse(method, 'answer', 'the answer of the handler has not the agreed shape');
  }

  /** Silence leaves it to others; a failure to show it must not become an answer. */
  #leave(method: string, show: () => void): Promise<never> {
    try {
      show();
    } catch (error) {
      this.#parts.refused?.({ method, because: 'threw', reason: `the watcher failed: ${messageOf(error)}` });
    }
    return new Promise(() => {});
  }

  #refuse(method: string, because: Refusal['because'], reason: string): unknown {
    this.#parts.refused?.({ method, because, reason });
    return refusalOf(method, reason);
  }
}
