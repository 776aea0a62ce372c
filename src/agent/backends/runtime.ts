// The backend that drives a model in this process: asks it, makes its tool calls, asks again until it has finished.

import { type Clock, systemClock } from '../../base/clock.ts';
import { isAppError } from '../../base/errors.ts';
import { throwIfAborted } from '../../base/signals.ts';
import { turnError } from '../../model/turn.ts';
import type { Backend, BackendEvent, Model, ToolHost, TurnRequest } from '../backend.ts';
import type { ProviderAccess } from '../models/client.ts';
import { concealing } from '../models/concealing.ts';
import type { ModelHttp } from '../models/http.ts';
import { modelClient } from '../models/registry.ts';
import { ask, type ModelRoute, type Retries, type Run } from './asking.ts';
import { Conversation } from './conversation.ts';
import { makeCalls } from './tool-calls.ts';

export type { ModelRoute, Retries };

export interface RuntimeOptions {
  readonly name?: string;
  /** Asked at the start of each turn. Throws an AppError that says what to configure if there is no such provider. */
  readonly route: (providerId: string) => ModelRoute | Promise<ModelRoute>;
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
  readonly provider: (providerId: string) => Promise<ProviderSetup>;
  readonly models: () => Promise<readonly Model[]>;
  readonly clock?: Clock;
}): Backend {
  let made: Promise<ModelHttp> | undefined;
  // Loaded on use: what it needs of Node takes its time, and a start has no request to make.
  const http = () => (made ??= import('../models/http.ts').then((module) => module.createModelHttp(options.clock)));
  return createTurnRuntime({
    ...options,
    async route(providerId) {
      const { access, retries } = await options.provider(providerId);
      return { client: modelClient(access, await http()), retries, conceal: concealing(access) };
    },
    close: async () => (await made)?.close(),
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

async function* runTurn(
  setup: Setup,
  turn: TurnRequest,
  tools: ToolHost,
  signal: AbortSignal,
): AsyncGenerator<readonly BackendEvent[], void> {
  throwIfAborted(signal);
  const conversation = new Conversation(turn.context);
  let run: Run;
  try {
    const route = await setup.route(turn.settings.modelProvider);
    const contextWindow = await contextWindowOf(setup, turn);
    run = { turn, signal, route, conversation, contextWindow, clock: setup.clock, random: setup.random };
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
