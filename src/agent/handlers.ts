// Lists models and their providers, as clients know them.

import { pageOf } from '../base/page.ts';
import type { ConfigSource } from '../config/load.ts';
import { canChangeDefault, setDefaultProvider, writeProvider } from '../config/provider-writes.ts';
import { defaultProviderId, hasProvider, providerIds, settingsOfProvider } from '../config/providers.ts';
import type { Config } from '../config/schema.ts';
import type { ResultInput } from '../rpc/declare.ts';
import { implement, type Route } from '../rpc/router.ts';
import type { Backend, Model } from './backend.ts';
import { type modelList, modelMethods, type modelProviderList } from './methods.ts';

/** How long a list waits for a provider of which nothing is known yet; it goes on being asked. */
const LISTING_WAIT_MS = 1500;

export interface ModelHandlerOptions {
  /** Those of the backend in force. */
  readonly models: Backend['models'];
  readonly config: ConfigSource;
}

export function modelHandlers({ models, config }: ModelHandlerOptions): Route[] {
  return implement(modelMethods, {
    modelList: async (params, { session }) => {
      const provider = params.modelProvider ?? undefined;
      const { settings: own } = session.client;
      const all = await models({
        ...{ waitMs: LISTING_WAIT_MS, ...(own === undefined ? {} : { own }) },
        ...(provider === undefined ? {} : { provider }),
      });
      const wanted = all.filter(
        (model) => (params.includeHidden || !model.hidden) && (provider === undefined || model.provider === provider),
      );
      const { data, nextCursor } = pageOf(wanted, params, {
        scope: ['model/list'],
        keyOf: (model) => JSON.stringify([model.provider, model.id]),
      });
      return { data: data.map(shown), nextCursor };
    },
    modelProviderList: async (_params, { session }) => {
      const state = await config.viewOf(session.client.settings).state();
      const now = state.config;
      const ids = new Set([...providerIds(now), defaultProviderId(now)]);
      return {
        data: [...ids].flatMap((id) => (hasProvider(now, id) ? [summaryOf(id, now)] : [])),
        defaultProviderId: defaultProviderId(now),
        canChangeDefault: canChangeDefault(state, session.principal),
      };
    },
    modelProviderConfigWrite: async ({ settings }, { session }) => {
      const id = await writeProvider(config, session.principal, settings);
      return { provider: summaryOf(id, (await config.state()).config) };
    },
    modelProviderDefaultSet: ({ providerId }, { session }) => setDefaultProvider(config, session.principal, providerId),
    // Turns are given tools for neither.
    modelProviderCapabilitiesRead: async () => ({ imageGeneration: false, webSearch: false }),
  });
}

type Summary = ResultInput<typeof modelProviderList>['data'][number];

function summaryOf(id: string, config: Config): Summary {
  const { name, baseUrl, envKey, headers } = settingsOfProvider(config, id);
  const canEdit = Object.hasOwn(config.model_providers, id);
  return { id, name, canEdit, baseUrl: displayable(baseUrl), settings: settings() };

  function settings(): Summary['settings'] {
    if (id === 'openai') return { type: 'openai' };
    if (envKey !== undefined) return { type: 'customGateway', auth: { mode: 'environmentVariable', envKey } };
    if (Object.keys(headers).length > 0)
      return { type: 'customGateway', auth: { mode: 'externallyConfigured', envKey: null } };
    return { type: 'customGateway', auth: { mode: 'none' } };
  }
}

/** An address with a name, a password or a query in it may hold a secret. */
function displayable(baseUrl: string | undefined): string | null {
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return null;
  const { username, password, search } = new URL(baseUrl);
  return username === '' && password === '' && search === '' ? baseUrl : null;
}

function shown(model: Model): ResultInput<typeof modelList>['data'][number] {
  return {
    id: model.id,
    model: model.id,
    upgrade: null,
    upgradeInfo: null,
    availabilityNux: null,
    displayName: model.displayName,
    description: model.description,
    modelSpecialty: null,
    hidden: model.hidden,
    supportedReasoningEfforts: model.efforts.map(({ effort, description }) => ({
      reasoningEffort: effort,
      description,
    })),
    defaultReasoningEffort: model.defaultEffort,
    inputModalities: [...model.modalities],
    supportsPersonality: false,
    multiAgentVersion: null,
    additionalSpeedTiers: [],
    serviceTiers: [],
    defaultServiceTier: null,
    availableAccessPrograms: null,
    isDefault: model.isDefault,
    modelProvider: model.provider,
    contextWindow: model.contextWindow,
  };
}
