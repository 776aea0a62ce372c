// Lists models, as clients know them.

import { pageOf } from '../base/page.ts';
import type { ResultInput } from '../rpc/declare.ts';
import { implement, type Route } from '../rpc/router.ts';
import type { Model } from './backend.ts';
import { type modelList, modelMethods } from './methods.ts';

export interface ModelHandlerOptions {
  /** Those of the backend in force. */
  readonly models: () => Promise<readonly Model[]>;
}

export function modelHandlers({ models }: ModelHandlerOptions): Route[] {
  return implement(modelMethods, {
    modelList: async (params) => {
      const wanted = (await models()).filter(
        (model) =>
          (params.includeHidden || !model.hidden) &&
          (params.modelProvider === undefined ||
            params.modelProvider === null ||
            model.provider === params.modelProvider),
      );
      const { data, nextCursor } = pageOf(wanted, params);
      return { data: data.map(shown), nextCursor };
    },
    // Turns are given tools for neither.
    modelProviderCapabilitiesRead: async () => ({ imageGeneration: false, webSearch: false }),
  });
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
