// What a model's failure means for the turn: the words for the client, and whether to ask again.

import { type ErrorInfo, type TurnError, turnError } from '../../model/turn.ts';
import type { ModelError, ModelFault } from '../models/client.ts';
import { parseLoosely, recordOf, textOf } from '../models/loose.ts';

export interface Failure {
  /** How the turn ends if nothing more is tried. */
  readonly final: TurnError;
  readonly canRetry: boolean;
  /** Nothing was answered, or only that the server could not: may be repeated without telling anybody. */
  readonly isRequestFault: boolean;
  /** The HTTP status to tell while retrying. */
  readonly httpStatus: number | null;
  /** The provider's wish how long to wait. */
  readonly retryAfterMs: number | undefined;
}

/** A provider that wants to be left alone for longer than this ends the turn. */
const LONGEST_WAIT_MS = 10 * 60_000;

const OVERLOADED = new Set(['server_is_overloaded', 'overloaded_error', 'slow_down']);
const USED_UP = new Set(['insufficient_quota', 'usage_limit_reached', 'usage_not_included', 'billing_error']);
const HOPELESS = new Set([
  'invalid_prompt',
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'not_found_error',
  'incomplete',
]);
const TOO_LONG = /context_length_exceeded|prompt is too long|maximum context length/i;

/** `conceal` is applied to all words of the provider. */
export function failureOf(error: ModelError, conceal: (text: string) => string): Failure {
  const verdict = verdictOn(error);
  const waitsTooLong = (error.retryAfterMs ?? 0) > LONGEST_WAIT_MS;
  return {
    final: turnError(conceal(verdict.message), verdict.info),
    canRetry: verdict.canRetry && !waitsTooLong,
    isRequestFault: verdict.canRetry && isRequestFault(error.fault),
    httpStatus: error.fault.kind === 'http' && error.fault.status !== 500 ? error.fault.status : null,
    retryAfterMs: error.retryAfterMs,
  };
}

/** The error to show while the turn goes on trying. */
export function retryingError(failure: Failure, attempt: number, attempts: number): TurnError {
  const info = { responseStreamDisconnected: { httpStatusCode: failure.httpStatus } };
  return turnError(`Reconnecting... ${attempt}/${attempts}`, info, failure.final.message);
}

interface Verdict {
  readonly message: string;
  readonly info: ErrorInfo;
  readonly canRetry: boolean;
}

const ends = (message: string, info: ErrorInfo): Verdict => ({ message, info, canRetry: false });
const repeats = (message: string, info: ErrorInfo): Verdict => ({ message, info, canRetry: true });

const tooLong = (): Verdict =>
  ends(
    'This thread no longer fits into the context window of the model: its next turn begins with a summary to make room.',
    'contextWindowExceeded',
  );
const overloaded = (reason: string): Verdict =>
  ends(`The model is overloaded: try again later or choose another one. (${reason})`, 'serverOverloaded');
const usedUp = (reason: string): Verdict =>
  ends(`The usage limit of this account is reached: ${reason}`, 'usageLimitExceeded');

function verdictOn(error: ModelError): Verdict {
  const { fault } = error;
  switch (fault.kind) {
    case 'http':
      return onStatus(fault, error);
    case 'connect':
      return repeats(`Connection failed: ${error.message}`, { httpConnectionFailed: { httpStatusCode: null } });
    case 'stream':
      return repeats(`stream disconnected before completion: ${error.message}`, 'other');
    case 'reported':
      return onReport(fault.code ?? '', error.message);
  }
}

function onStatus(fault: Extract<ModelFault, { kind: 'http' }>, error: ModelError): Verdict {
  const { status } = fault;
  const code = codeIn(fault.body);
  if (OVERLOADED.has(code) || status === 529) return overloaded(error.message);
  if (USED_UP.has(code)) return usedUp(error.message);
  if (status === 429) return onTooMany(fault, error);
  if (status === 500) return repeats(`the model's server failed: ${error.message}`, 'internalServerError');
  if (status === 400) return TOO_LONG.test(fault.body) ? tooLong() : ends(fault.body || error.message, 'other');
  const message = `unexpected status ${status} ${fault.statusText}: ${error.message}, url: ${fault.url}`;
  const verdict = status === 413 || status === 422 ? ends : repeats;
  return verdict(message, { httpConnectionFailed: { httpStatusCode: status } });
}

/** Repeated only when the provider says when. */
function onTooMany(fault: Extract<ModelFault, { kind: 'http' }>, error: ModelError): Verdict {
  const message = `exceeded retry limit, last status: ${fault.status} ${fault.statusText}`;
  const verdict = error.retryAfterMs === undefined ? ends : repeats;
  return verdict(message, { responseTooManyFailedAttempts: { httpStatusCode: fault.status } });
}

function onReport(code: string, message: string): Verdict {
  if (TOO_LONG.test(code) || TOO_LONG.test(message)) return tooLong();
  if (OVERLOADED.has(code)) return overloaded(message);
  if (USED_UP.has(code)) return usedUp(message);
  if (HOPELESS.has(code)) return ends(message, 'other');
  if (code === 'rate_limit_exceeded') return repeats(`rate limit exceeded: ${message}`, 'other');
  return repeats(`stream disconnected before completion: ${message}`, 'other');
}

/** `type` where it is one we know, else `code`: providers put the telling word into either. */
function codeIn(body: string): string {
  const error = recordOf(recordOf(parseLoosely(body)).error);
  const type = textOf(error.type);
  return OVERLOADED.has(type) || USED_UP.has(type) ? type : textOf(error.code);
}

function isRequestFault(fault: ModelFault): boolean {
  if (fault.kind === 'connect') return true;
  return fault.kind === 'http' && (fault.status >= 500 || fault.status === 408 || fault.status === 409);
}

/** Milliseconds before attempt number `attempt` (from 1): what the provider wished, else doubling from 200 with some spread. */
export function retryDelayMs(attempt: number, wishedMs: number | undefined, random: () => number): number {
  if (wishedMs !== undefined) return wishedMs;
  return Math.min(200 * 2 ** (attempt - 1), 30_000) * (0.9 + 0.2 * random());
}
