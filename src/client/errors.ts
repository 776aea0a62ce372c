// Errors as users of the client see them: the code and data of the wire, and what is known of the effect.

import { AppError, type ErrorKind, messageOf } from '../base/errors.ts';
import { kindCalled, wireError } from '../rpc/errors.ts';

/**
 * What is known of a request that changes something. `unsent`: it has had no effect. `sent`: an answer is awaited. `running`: it
 * was accepted, and the turn it began goes on. `unknown`: it was sent and no answer came. `done`: it was answered.
 */
export type MutationState = 'unsent' | 'sent' | 'running' | 'unknown' | 'done';

/** Whatever fails in the client has this shape: refused by the server, or here. `data` has at least `kind` and `retryable`. */
export class RequestError extends AppError {
  override readonly name = 'RequestError';
  /** The JSON-RPC code of the server, or the one it would have used. */
  readonly code: number;
  /** Of requests that change something. `unknown`: sent again with the same `idempotencyKey`, if it has one, it has its effect at most once. */
  readonly state: MutationState | undefined;
  readonly idempotencyKey: string | undefined;

  constructor(error: AppError, mutation?: { readonly state: MutationState; readonly idempotencyKey?: string }) {
    const { code, kind } = error.data;
    const data = typeof code === 'number' ? error.data : wireError(error).data;
    super(kindCalled(kind, code) ?? error.kind, error.message, data, { cause: error });
    this.code = typeof code === 'number' ? code : wireError(error).code;
    this.state = mutation?.state;
    this.idempotencyKey = mutation?.idempotencyKey;
  }
}

/** It came from the server, and not from this side about the server. */
const isAnswer = (error: AppError): boolean => typeof error.data.code === 'number';

/** The connection ended before the answer. */
export const isCut = (error: unknown): boolean =>
  error instanceof AppError && error.kind === 'unavailable' && !isAnswer(error);

export const isOverload = (error: unknown): error is AppError =>
  error instanceof AppError && error.kind === 'overloaded' && isAnswer(error);

/** The server itself does not know whether the request took effect. */
export const isUncertain = (error: unknown): boolean => error instanceof AppError && error.kind === 'notSettled';

export const isStaleCursor = (error: unknown): error is AppError =>
  error instanceof AppError && error.kind === 'conflict' && error.data.kind === 'stale_cursor';

/** No attempt to connect will end otherwise. */
export function isFinal(error: unknown): boolean {
  const kinds: readonly ErrorKind[] = ['unauthenticated', 'forbidden', 'invalid', 'badRequest', 'unsupported'];
  return error instanceof AppError && kinds.includes(error.kind);
}

export const asAppError = (error: unknown): AppError =>
  error instanceof AppError ? error : new AppError('internal', messageOf(error), {}, { cause: error });

/** Anything thrown, as programs get it. */
export const asRequestError = (error: unknown): RequestError =>
  error instanceof RequestError ? error : new RequestError(asAppError(error));

/** One of this side. */
export const failure = (...[kind, message, data]: ConstructorParameters<typeof AppError>): RequestError =>
  new RequestError(new AppError(kind, message, data));
