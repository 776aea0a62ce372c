// One call of a tool: with a limit to its silence, ended in words on abort, and never taken for a success that it was not.

import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Progress } from '@modelcontextprotocol/sdk/types.js';
import { type Clock, sleep } from '../base/clock.ts';
import { AppError, isAppError, messageOf } from '../base/errors.ts';
import { deferred, onAbort } from '../base/signals.ts';
import { ANSWER_CUT } from './answer-stream.ts';
import type { Caller } from './open-calls.ts';
import { NEVER } from './wire.ts';

export interface ToolCall {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly meta?: Readonly<Record<string, unknown>>;
}

export interface CallOptions extends Caller {
  readonly onProgress?: (message: string) => void;
}

export type CallAnswer =
  /** As the server gave it; `isError`: the tool failed, and says how. */
  | {
      readonly kind: 'result';
      readonly content: readonly unknown[];
      readonly structuredContent: unknown;
      readonly isError: boolean;
      readonly meta: unknown;
    }
  /** The server refused the call; `isForgotten`: because it does not know us any more, and a new connection may do. */
  | { readonly kind: 'refused'; readonly message: string; readonly code: number; readonly isForgotten?: true }
  /** It was asked and gave no answer: whether it was carried out is not known. */
  | { readonly kind: 'lost'; readonly message: string };

interface CallParts {
  readonly library: typeof import('./library.ts');
  readonly client: Client;
  readonly clock: Clock;
  /** How long it may be silent, in milliseconds. */
  readonly toolMs: number;
  /** Id of the request that was sent last. */
  readonly lastId: () => string | number;
  readonly endedBecause: () => string | undefined;
  /** Told when it no longer takes who we are. */
  readonly refused: (error: unknown) => void;
  readonly isForgotten: (error: unknown) => boolean;
  /** It waits for people. */
  readonly isAsking: () => boolean;
}

/** How long a server may take to answer that a call is cancelled. */
const CANCEL_MS = 2_000;
/** With progress without end. */
const MAX_CALL_MS = 6 * 3_600_000;

const UNAUTHORIZED = 401;
const NOT_KNOWN = 'whether it was carried out is not known';

/** Never rejects. */
export async function callTool(parts: CallParts, call: ToolCall, options: CallOptions): Promise<CallAnswer> {
  const { library, client } = parts;
  const { signal } = options;
  if (signal.aborted) return { kind: 'refused', message: 'the call was stopped before it was made', code: 0 };
  const silence = watchSilence(parts);
  const onprogress = ({ progress, total, message }: Progress) => {
    silence.heard();
    options.onProgress?.(message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`));
  };
  const params = { name: call.tool, arguments: { ...call.arguments }, ...(call.meta ? { _meta: call.meta } : {}) };
  const request = client.request({ method: 'tools/call', params }, library.CallToolResultSchema, {
    ...NEVER,
    onprogress,
  });
  const id = parts.lastId();
  const answer = request.then(answerOf, (error: unknown) => failureOf(parts, error));
  const stopped = deferred<'stopped'>();
  const free = onAbort(signal, () => stopped.resolve('stopped'));
  try {
    const first = await Promise.race([answer, silence.over, stopped.promise]);
    if (typeof first !== 'string') return first;
    const late = await cancel(parts, id, answer);
    if (late) return late;
    const why = first === 'stopped' ? 'the call was stopped' : `no word for ${parts.toolMs / 1000} seconds`;
    return { kind: 'lost', message: `${why}; ${NOT_KNOWN}` };
  } finally {
    free();
    silence.stop();
  }
}

/** Gives the answer of the call, if it comes before the server has read that nobody waits for it. */
async function cancel(
  { client, clock }: CallParts,
  requestId: string | number,
  answer: Promise<CallAnswer>,
): Promise<CallAnswer | undefined> {
  const params = { requestId, reason: 'the user stopped it' };
  const over = new AbortController();
  // What is cancelled gets no answer of its own; one to a ping shows that the server has read so far.
  const read = client
    .notification({ method: 'notifications/cancelled', params })
    .then(() => client.ping(NEVER))
    .catch(() => {});
  const late = sleep(clock, CANCEL_MS, over.signal).catch(() => {});
  const first = await Promise.race([answer, read.then(() => undefined), late.then(() => undefined)]);
  over.abort();
  return first;
}

function watchSilence({ clock, toolMs, isAsking }: CallParts) {
  const over = deferred<'silent'>();
  const begun = clock.elapsed();
  let stop = () => {};
  const wait = () => {
    stop = clock.timer(toolMs, () => {
      // People may take their time.
      if (isAsking()) wait();
      else over.resolve('silent');
    });
  };
  wait();
  return {
    over: over.promise,
    stop: () => stop(),
    heard() {
      if (clock.elapsed() - begun > MAX_CALL_MS) return;
      stop();
      wait();
    },
  };
}

function answerOf(result: {
  readonly content?: readonly unknown[];
  readonly structuredContent?: unknown;
  readonly isError?: unknown;
  readonly _meta?: unknown;
}): CallAnswer {
  return {
    kind: 'result',
    content: result.content ?? [],
    structuredContent: result.structuredContent ?? null,
    isError: result.isError === true,
    meta: result._meta ?? null,
  };
}

function failureOf({ library, endedBecause, refused, isForgotten }: CallParts, error: unknown): CallAnswer {
  if (isForgotten(error)) {
    refused(error);
    return { kind: 'refused', message: 'the server has forgotten us: it was started anew', code: 0, isForgotten: true };
  }
  if (error instanceof library.StreamableHTTPError && error.code === UNAUTHORIZED) {
    refused(error);
    return { kind: 'refused', message: 'the server asks who we are (401): log in to it', code: UNAUTHORIZED };
  }
  if (isAppError(error) && error.data.isSent === false)
    return { kind: 'refused', message: `the server is gone (${error.message})`, code: 0 };
  const ended = endedBecause();
  if (ended !== undefined) return { kind: 'lost', message: `the server is gone (${ended}); ${NOT_KNOWN}` };
  if (error instanceof library.McpError && error.code === ANSWER_CUT)
    return { kind: 'lost', message: `${error.message}; ${NOT_KNOWN}` };
  if (error instanceof library.McpError) return { kind: 'refused', message: error.message, code: error.code };
  if (isAppError(error)) return { kind: 'lost', message: `${error.message}; ${NOT_KNOWN}` };
  if (error instanceof library.StreamableHTTPError)
    return { kind: 'lost', message: `the server answered with an error of HTTP (${error.code}); ${NOT_KNOWN}` };
  return { kind: 'lost', message: `the answer could not be read: ${messageOf(error).slice(0, 2_000)}; ${NOT_KNOWN}` };
}

/** A failure that is told as an error of the request. */
export const refusalOf = (answer: Exclude<CallAnswer, { kind: 'result' }>): AppError =>
  answer.kind === 'lost'
    ? new AppError('internal', answer.message, { kind: 'uncertain' })
    : new AppError('internal', answer.message, { mcpCode: answer.code });
