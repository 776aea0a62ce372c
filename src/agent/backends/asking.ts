// Asks a model for one answer of a turn, and again as often as its failures, the retries and the user allow.

import { type Clock, sleep } from '../../base/clock.ts';
import { isAppError } from '../../base/errors.ts';
import { cancelledBy, onAbort, throwIfAborted } from '../../base/signals.ts';
import { turnError } from '../../model/turn.ts';
import type { BackendEvent, TurnRequest } from '../backend.ts';
import { type ModelClient, ModelError, type ModelRequest } from '../models/client.ts';
import type { Conversation } from './conversation.ts';
import { type Failure, failureOf, retryDelayMs, retryingError } from './model-failure.ts';
import { PATCH_TOOL } from './patch-tool.ts';
import { ResponseItems } from './response-items.ts';
import type { Room } from './room.ts';
import { offeredTools } from './tools.ts';
import { withoutImages } from './without-images.ts';

export interface Retries {
  /** Silent repeats of a request of which nothing came back. */
  readonly request: number;
  /** Repeats of an answer that failed or broke off, each told as *retrying*. */
  readonly stream: number;
}

/** Where a turn's model is reached. */
export interface ModelRoute {
  readonly client: ModelClient;
  readonly retries: Retries;
  /** Takes what clients must not see out of the provider's words. */
  readonly conceal: (text: string) => string;
  /** Tokens of the model's view from which on it is to be made shorter; null or absent: as the context window says. */
  readonly compactTokens?: number | null;
  /** Absent: they are tried. */
  readonly hasOutputSchemas?: boolean;
  /** Its models are offered tools to read files and look through them. */
  readonly hasFileTools?: boolean;
  /** Patches are shown while the model writes them. */
  readonly showsPatches?: boolean;
}

/** What one run of a turn keeps in hand. */
export interface Run {
  readonly turn: TurnRequest;
  readonly signal: AbortSignal;
  readonly route: ModelRoute;
  readonly conversation: Conversation;
  readonly contextWindow: number | null;
  readonly room: Room;
  readonly clock: Clock;
  /** In [0, 1): spreads the waits between attempts. */
  readonly random: () => number;
}

type Events = readonly BackendEvent[];

/** `steered`: stopped because there is input to take. `failed`: has been reported as such. */
export type Outcome = 'answered' | 'steered' | 'failed';

/** Throws as *cancelled* when the turn is, after what was said until then. */
export async function* ask(run: Run): AsyncGenerator<Events, Outcome> {
  const attempts = { request: 0, stream: 0 };
  for (;;) {
    const items = new ResponseItems(run.conversation, run.turn.settings, run.contextWindow);
    const stop = stopSignal(run);
    try {
      yield* answer(run, items, stop.signal);
      return yield* ended(items);
    } catch (error) {
      if (run.signal.aborted || stop.signal.aborted) {
        const rest = items.cutShort(true);
        if (rest.length > 0) yield rest;
        if (run.signal.aborted) throw cancelledBy(run.signal);
        return 'steered';
      }
      const failure = failureOrThrow(error, run.route.conceal);
      const rest = items.cutShort(false);
      if (rest.length > 0) yield rest;
      if (!(yield* waitToRetry(run, failure, attempts, stop.signal))) {
        yield [{ type: 'failed', error: failure.final }];
        return 'failed';
      }
      if (run.turn.steering.signal.aborted) return 'steered';
    } finally {
      stop.free();
    }
  }
}

async function* answer(run: Run, items: ResponseItems, signal: AbortSignal): AsyncGenerator<Events, void> {
  for await (const events of run.route.client.stream(requestOf(run), signal)) {
    const out = items.accept(events);
    for (const event of out) if (event.type === 'usage') run.room.heard(event.usage);
    if (out.length > 0) yield out;
    if (items.finished !== undefined) return;
    throwIfAborted(signal);
  }
  throw new ModelError('the answer has no end', { kind: 'stream' });
}

const REASONS = { length: 'max_output_tokens', contentFilter: 'content_filter' } as const;

async function* ended(items: ResponseItems): AsyncGenerator<Events, Outcome> {
  if (items.finished !== 'length' && items.finished !== 'contentFilter') return 'answered';
  const message = `Incomplete response returned, reason: ${REASONS[items.finished]}`;
  yield [...items.cutShort(false), { type: 'failed', error: turnError(message, 'other') }];
  return 'failed';
}

/** Waits before the next attempt, and tells if it is not a silent one; false: there is to be none. */
async function* waitToRetry(
  run: Run,
  failure: Failure,
  attempts: { request: number; stream: number },
  signal: AbortSignal,
): AsyncGenerator<Events, boolean> {
  const { retries } = run.route;
  if (!failure.canRetry) return false;
  let attempt: number;
  if (failure.isRequestFault && attempts.request < retries.request) {
    attempt = ++attempts.request;
  } else if (attempts.stream < retries.stream) {
    attempt = ++attempts.stream;
    attempts.request = 0;
    yield [{ type: 'retrying', error: retryingError(failure, attempt, retries.stream) }];
  } else {
    return false;
  }
  await sleep(run.clock, retryDelayMs(attempt, failure.retryAfterMs, run.random), signal).catch(() => {});
  throwIfAborted(run.signal);
  return true;
}

function failureOrThrow(error: unknown, conceal: ModelRoute['conceal']): Failure {
  if (error instanceof ModelError) return failureOf(error, conceal);
  // A configuration that cannot work is the turn's failure, not a defect.
  if (isAppError(error) && error.kind !== 'cancelled') {
    const final = turnError(error.message, 'other');
    return { final, canRetry: false, isRequestFault: false, httpStatus: null, retryAfterMs: undefined };
  }
  throw error;
}

/** A signal that aborts with the turn's or with steering; to be freed. */
function stopSignal(run: Run): { readonly signal: AbortSignal; free(): void } {
  const controller = new AbortController();
  const offTurn = onAbort(run.signal, () => controller.abort(cancelledBy(run.signal)));
  const offSteering = onAbort(run.turn.steering.signal, () => controller.abort());
  return {
    signal: controller.signal,
    free() {
      offTurn();
      offSteering();
    },
  };
}

function requestOf(run: Run): ModelRequest {
  const { settings, instructions, outputSchema, threadId, isBlind } = run.turn;
  const { items } = run.conversation;
  return {
    model: settings.model,
    instructions,
    context: isBlind ? withoutImages(items) : items,
    tools: offeredTools(run.turn, { fileTools: run.route.hasFileTools ?? false }).map(({ spec }) => spec),
    effort: settings.effort,
    summary: settings.summary,
    serviceTier: settings.serviceTier,
    ...(run.route.showsPatches ? { watchedTool: PATCH_TOOL } : {}),
    ...(outputSchema === undefined ? {} : { outputSchema }),
    cacheKey: threadId,
  };
}
