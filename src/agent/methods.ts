// The models that turns can run on.

import { z } from 'zod';
import { request, unqueued } from '../rpc/declare.ts';

export const modelList = request('model/list', {
  params: () =>
    z.object({
      modelProvider: z.string().nullish(),
      cursor: z.string().nullish(),
      limit: z.int().min(0).nullish(),
      includeHidden: z.boolean().nullish(),
    }),
  result: () =>
    z.object({
      data: z.array(
        z.object({
          id: z.string(),
          model: z.string(),
          upgrade: z.null(),
          upgradeInfo: z.null(),
          availabilityNux: z.null(),
          displayName: z.string(),
          description: z.string(),
          modelSpecialty: z.null(),
          hidden: z.boolean(),
          supportedReasoningEfforts: z.array(z.object({ reasoningEffort: z.string(), description: z.string() })),
          defaultReasoningEffort: z.string(),
          inputModalities: z.array(z.enum(['text', 'image', 'audio'])),
          supportsPersonality: z.literal(false),
          multiAgentVersion: z.null(),
          additionalSpeedTiers: z.array(z.string()),
          serviceTiers: z.array(z.never()),
          defaultServiceTier: z.null(),
          availableAccessPrograms: z.null(),
          isDefault: z.boolean(),
          /** Ours: whose model it is. */
          modelProvider: z.string(),
          /** Ours: in tokens, where it is known. */
          contextWindow: z.number().nullable(),
        }),
      ),
      nextCursor: z.string().nullable(),
    }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
});

export const modelProviderCapabilitiesRead = request('modelProvider/capabilities/read', {
  params: () => z.object({}),
  result: () => z.object({ imageGeneration: z.boolean(), webSearch: z.boolean() }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
});

const GatewayAuth = () =>
  z.discriminatedUnion('mode', [
    z.object({ mode: z.literal('none') }),
    z.object({ mode: z.literal('environmentVariable'), envKey: z.string() }),
    z.object({ mode: z.literal('externallyConfigured'), envKey: z.string().nullable() }),
  ]);

export const modelProviderList = request('modelProvider/list', {
  params: () => z.object({}),
  result: () =>
    z.object({
      data: z.array(
        z.object({
          id: z.string(),
          name: z.string(),
          canEdit: z.boolean(),
          /** Null where it is not configured or may hold a secret. */
          baseUrl: z.string().nullable(),
          settings: z.discriminatedUnion('type', [
            z.object({ type: z.literal('openai') }),
            z.object({ type: z.literal('customGateway'), auth: GatewayAuth() }),
          ]),
        }),
      ),
      defaultProviderId: z.string(),
      canChangeDefault: z.boolean(),
    }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
});

export const modelMethods = { modelList, modelProviderList, modelProviderCapabilitiesRead };
