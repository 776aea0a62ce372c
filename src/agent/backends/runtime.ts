// The backend that drives a model in this process: asks it, makes its tool calls, asks again until it has finished.

import { type Clock, systemClock } from '../../base/clock.ts';
import { isAppError } from '../../base/errors.ts';
import { throwIfAborted } from '../../base/signals.ts';
import { turnError } from '../../model/turn.ts';
import type { Backend, BackendEvent, OwnSettings, ToolHost, TurnRequest } from '../backend.ts';
import type { ProviderAccess } from '../models/client.ts';
import { concealing } from '../models/concealing.ts';
import type { ModelHttp } from '../models/http.ts';
import { ListingCache } from '../models/listing-cache.ts';
import { modelClient } from '../models/registry.ts';
import { ask, type ModelRoute, type Retries, type Run } from './asking.ts';
import { Conversation } from './conversation.ts';
import { type CatalogueParts, catalogueOf } from './model-catalogue.ts';
import { Room } from './room.ts';
import { makeCalls } from './tool-calls.ts';

export type { ModelRoute, Retries };

export interface RuntimeOptions {
  readonly name?: string;
  /** Asked at the start of each turn. Throws an AppError that says what to configure if there is no such provider. */
  readonly route: (providerId: string, own: OwnSettings | undefined) => ModelRoute | Promise<ModelRoute>;
  readonly models: Backend['models'];
  readonly clock?: Clock;
  /** In [0, 1): spreads the waits between attempts. */
  readonly random?: () => number;
  readonly close?: () => Promise<void>;
}

export interface ProviderSetup
  extends Pick<ModelRoute, 'retries' | 'compactTokens' | 'hasOutputSchemas' | 'hasFileTools' | 'showsPatches'> {
  readonly access: ProviderAccess;
}

/** What is known of a provider's models without asking it. */
export interface CatalogueSource extends Omit<CatalogueParts, 'listed'> {
  /** How to ask it; undefined: it is not to be asked. Looked up only where it may matter: turns ask for models, too. */
  readonly access: () => Promise<ProviderAccess | undefined>;
}

/** The runtime over HTTP: providers are looked up anew for each turn, so that a changed configuration counts at once. */
export function createRuntimeBackend(options: {
  /** Throws an AppError that says what to configure if there is no such provider. */
  readonly provider: (providerId: string, own: OwnSettings | undefined) => Promise<ProviderSetup>;
  /** Of the provider that new threads get, where no other one is named. Rejects as *invalid* when there is no such provider. */
  readonly catalogue: (providerId: string | undefined, own: OwnSettings | undefined) => Promise<CatalogueSource>;
  readonly clock?: Clock;
}): Backend {
  let made: Promise<ModelHttp> | undefined;
  // Loaded on use: what it needs of Node takes its time, and a start has no request to make.
  const http = () => (made ??= import('../models/http.ts').then((module) => module.createModelHttp(options.clock)));
  const list = async (access: ProviderAccess, signal: AbortSignal) => {
    const { listModels } = await import('../models/listing.ts');
    return listModels(access, await http(), signal);
  };
  const listings = new ListingCache(list, options.clock ?? systemClock);
  return createTurnRuntime({
    ...options,
    async route(providerId, own) {
      const { access, ...rest } = await options.provider(providerId, own);
      return { ...rest, client: modelClient(access, await http()), conceal: concealing(access) };
    },
    async models({ provider, waitMs, own } = {}) {
      const { access: accessOf, ...known } = await options.catalogue(provider, own);
      const access = waitMs === undefined && listings.isEmpty ? undefined : await accessOf();
      if (access === undefined) return catalogueOf({ ...known, listed: [] });
      const listed = waitMs === undefined ? listings.known(access) : await listings.get(access, waitMs);
      return catalogueOf({ ...known, listed });
    },
    close: async () => {
      await listings.close();
      await (await made)?.close();
    },
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
    const route = await setup.route(turn.settings.modelProvider, turn.own);
    if (turn.outputSchema !== undefined && route.hasOutputSchemas === false) {
      yield [{ type: 'failed', error: turnError(noSchemas(turn.settings.modelProvider), 'badRequest') }];
      return;
    }
    const contextWindow = await contextWindowOf(setup, turn);
    const room = new Room(turn, contextWindow, route.compactTokens ?? null);
    run = { turn, signal, route, conversation, contextWindow, room, clock: setup.clock, random: setup.random };
  } catch (error) {
    if (!isAppError(error)) throw error;
    yield [{ type: 'failed', error: turnError(error.message, 'other') }];
    return;
  }
  for (;;) {
    yield* makeCalls(conversation, turn, tools, signal);
    if (turn.steering.signal.aborted) conversation.add(turn.steering.take());
    if (run.room.isFull(conversation.items)) {
      yield [{ type: 'contextFull' }];
      return;
    }
    const outcome = yield* ask(run);
    if (outcome === 'failed') return;
    const isDone = outcome === 'answered' && conversation.unanswered().length === 0;
    if (isDone && !turn.steering.signal.aborted) return;
  }
}

const noSchemas = (provider: string): string =>
  `the provider ${provider} cannot hold its answers to a schema: leave outputSchema out, or choose another provider`;

async function contextWindowOf(setup: Setup, turn: TurnRequest): Promise<number | null> {
  const { own, settings } = turn;
  const models = await setup.models({ provider: settings.modelProvider, ...(own === undefined ? {} : { own }) });
  return models.find((model) => model.id === settings.model)?.contextWindow ?? null;
}
