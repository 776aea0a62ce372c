// The handlers of a program for questions of the server, typed by the method of the question.

import type { Answer } from './questions.ts';
import type { QuestionAnswer, QuestionName, QuestionParams } from './typed.ts';

/**
 * The signal aborts when the answer is no longer wanted. What it throws, and an answer that has not the agreed shape, is a
 * refusal, never a consent.
 */
export type QuestionHandler<M extends QuestionName> = (
  params: QuestionParams<M>,
  signal: AbortSignal,
) => QuestionAnswer<M> | Promise<QuestionAnswer<M>>;

export type QuestionHandlers = { readonly [M in QuestionName]?: QuestionHandler<M> };

export class HandlerTable {
  readonly #handlers: Map<string, Answer>;

  constructor(handlers: QuestionHandlers) {
    this.#handlers = new Map(
      Object.entries(handlers).flatMap(([method, handler]) => (handler ? [[method, handler as Answer]] : [])),
    );
  }

  /** In place of the one there was; the returned function takes it away. */
  set<M extends QuestionName>(method: M, handler: QuestionHandler<M>): () => void {
    this.#handlers.set(method, handler as Answer);
    return () => {
      if (this.#handlers.get(method) === handler) this.#handlers.delete(method);
    };
  }

  get(method: string): Answer | undefined {
    return this.#handlers.get(method);
  }
}
