// The backend that drives a model in this process: asks it, makes its tool calls, asks again until it has finished.

import { type Clock, sleep, systemClock } from '../../base/clock.ts';
import { isAppError } from '../../base/errors.ts';
import { cancelledBy, onAbort, throwIfAborted } from '../../base/signals.ts';
import { turnError } from '../../model/turn.ts';
import type { Backend, BackendEvent, Model, ToolHost, TurnRequest } from '../backend.ts';
import { type ModelClient, ModelError, type ModelRequest, type ProviderAccess } from '../models/client.ts';
import { createModelHttp } from '../models/http.ts';
import { modelClient } from '../models/registry.ts';
import { commandToolSpec } from './command-tool.ts';
import { Conversation } from './conversation.ts';
import { type Failure, failureOf, retryDelayMs, retryingError } from './model-failure.ts';
import { ResponseItems } from './response-items.ts';
import { makeCalls } from './tool-calls.ts';

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
}

export interface RuntimeOptions {
  readonly name?: string;
  /** Asked at the start of each turn. Throws an AppError that says what to configure if there is no such provider. */
  readonly route: (providerId: string) => ModelRoute;
  readonly models: () => Promise<readonly Model[]>;
  readonly clock?: Clock;
  /** In [0, 1): spreads the waits between attempts. */
  readonly random?: () => number;
  readonly close?: () => Promise<void>;
}

export interface ProviderSetup {
  readonly access: ProviderAccess;
  readonly retries: Retries;
}

/** The runtime over HTTP: providers are looked up anew for each turn, so that a changed configuration counts at once. */
export function createRuntimeBackend(options: {
  /** Throws an AppError that says what to configure if there is no such provider. */
  readonly provider: (providerId: string) => ProviderSetup;
  readonly models: () => Promise<readonly Model[]>;
  readonly clock?: Clock;
}): Backend {
  const http = createModelHttp(options.clock);
  return createTurnRuntime({
    ...options,
    route(providerId) {
      const { access, retries } = options.provider(providerId);
      return { client: modelClient(access, http), retries };
    },
    close: () => http.close(),
  });
}

/** The same loop over any model client. */
export function createTurnRuntime(options: RuntimeOptions): Backend {
  const setup = { clock: systemClock, random: Math.random, ...options };
  return {
    name: options.name ?? 'runtime',
    abilities: { steer: true, images: true },
    models: options.models,
    run: (turn, tools, signal) => runTurn(setup, turn, tools, signal),
    close: async () => options.close?.(),
  };
}

type Setup = RuntimeOptions & Required<Pick<RuntimeOptions, 'clock' | 'random'>>;
type Events = readonly BackendEvent[];

/** What one run keeps in hand. */
interface Run {
  readonly setup: Setup;
  readonly turn: TurnRequest;
  readonly signal: AbortSignal;
  readonly route: ModelRoute;
  readonly conversation: Conversation;
  readonly contextWindow: number | null;
}

async function* runTurn(
  setup: Setup,
  turn: TurnRequest,
  tools: ToolHost,
  signal: AbortSignal,
): AsyncGenerator<Events, void> {
  throwIfAborted(signal);
  const conversation = new Conversation(turn.context);
  let run: Run;
  try {
    const route = setup.route(turn.settings.modelProvider);
    run = { setup, turn, signal, route, conversation, contextWindow: await contextWindowOf(setup, turn) };
  } catch (error) {
    if (!isAppError(error)) throw error;
    yield [{ type: 'failed', error: turnError(error.message, 'other') }];
    return;
  }
  for (;;) {
    yield* makeCalls(conversation, turn, tools, signal);
    if (turn.steering.signal.aborted) conversation.add(turn.steering.take());
    const outcome = yield* ask(run);
    if (outcome === 'failed') return;
    const isDone = outcome === 'answered' && conversation.unanswered().length === 0;
    if (isDone && !turn.steering.signal.aborted) return;
  }
}

async function contextWindowOf(setup: Setup, turn: TurnRequest): Promise<number | null> {
  const models = await setup.models();
  return models.find((model) => model.id === turn.settings.model)?.contextWindow ?? null;
}

type Outcome = 'answered' | 'steered' | 'failed';

/** Asks the model once, and again as often as its failures and the retries allow. */
async function* ask(run: Run): AsyncGenerator<Events, Outcome> {
  const attempts = { request: 0, stream: 0 };
  for (;;) {
    const items = new ResponseItems(run.conversation, run.turn.settings.modelProvider, run.contextWindow);
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
      const failure = failureOrThrow(error);
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
  await sleep(run.setup.clock, retryDelayMs(attempt, failure.retryAfterMs, run.setup.random), signal).catch(() => {});
  throwIfAborted(run.signal);
  return true;
}

function failureOrThrow(error: unknown): Failure {
  if (error instanceof ModelError) return failureOf(error);
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
  const { settings, instructions, outputSchema, threadId } = run.turn;
  return {
    model: settings.model,
    instructions,
    context: run.conversation.items,
    tools: [commandToolSpec],
    effort: settings.effort,
    summary: settings.summary,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    cacheKey: threadId,
  };
}
