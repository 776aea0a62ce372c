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
          contextWindow: z.int().nullable(),
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

const ProviderSummary = () =>
  z.object({
    id: z.string(),
    name: z.string(),
    /** Name, address and key variable can be written. */
    canEdit: z.boolean(),
    /** Null where it is not configured or may hold a secret. */
    baseUrl: z.string().nullable(),
    settings: z.discriminatedUnion('type', [
      z.object({ type: z.literal('openai') }),
      z.object({ type: z.literal('customGateway'), auth: GatewayAuth() }),
    ]),
  });

export const modelProviderList = request('modelProvider/list', {
  params: () => z.object({}),
  result: () =>
    z.object({
      data: z.array(ProviderSummary()),
      defaultProviderId: z.string(),
      canChangeDefault: z.boolean(),
    }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
});

/** Who works with what is the operator's to say. */
const writing = { queue: () => ({ key: 'config' }), needs: 'admin', mutates: 'effect' } as const;

export const modelProviderConfigWrite = request('modelProvider/config/write', {
  params: () =>
    z.object({
      settings: z.object({
        type: z.literal('customGateway'),
        /** Absent or null: a new one, whose id is made of its name. */
        providerId: z.string().nullish(),
        name: z.string().min(1).max(256).optional(),
        baseUrl: z.string().max(4096).nullish(),
        envKey: z.string().max(256).nullish(),
      }),
    }),
  result: () => z.object({ provider: ProviderSummary() }),
  ...writing,
});

export const modelProviderDefaultSet = request('modelProvider/default/set', {
  params: () => z.object({ providerId: z.string() }),
  result: () =>
    z.object({
      status: z.enum(['ok', 'okOverridden']),
      version: z.string(),
      filePath: z.string(),
      overriddenMetadata: z.unknown(),
    }),
  ...writing,
});

export const modelMethods = {
  modelList,
  modelProviderList,
  modelProviderConfigWrite,
  modelProviderDefaultSet,
  modelProviderCapabilitiesRead,
};
