// What there is to say about accounts where there is none: keys of providers, and truthful answers to the rest.

import { z } from 'zod';
import { notification, type Queue, request, unqueued } from '../rpc/declare.ts';

const accountQueue = (): Queue => ({ key: 'account' });

const authMode = () => z.literal('apikey').nullable();

export const accountRead = request('account/read', {
  params: () => z.object({ refreshToken: z.boolean().nullish() }),
  result: () =>
    z.object({
      account: z.null(),
      userId: z.null(),
      requiresOpenaiAuth: z.literal(false),
      workspaceRouting: z.null(),
    }),
  queue: unqueued,
  needs: 'none',
  mutates: false,
});

export const getAuthStatus = request('getAuthStatus', {
  params: () => z.object({ includeToken: z.boolean().nullish(), refreshToken: z.boolean().nullish() }),
  /** `authToken` is never told: a key that was stored leaves the server only towards its provider. */
  result: () => z.object({ authMethod: authMode(), authToken: z.null(), requiresOpenaiAuth: z.literal(false) }),
  queue: unqueued,
  needs: 'none',
  mutates: false,
});

export const accountRateLimitsRead = request('account/rateLimits/read', {
  params: () => z.object({}),
  result: () =>
    z.object({
      ordinaryUsageAllowed: z.null(),
      rateLimits: z.object({
        limitId: z.null(),
        limitName: z.null(),
        normalModelSlug: z.null(),
        primary: z.null(),
        secondary: z.null(),
        credits: z.null(),
        individualLimit: z.null(),
        spendControlReached: z.null(),
        planType: z.null(),
        rateLimitReachedType: z.null(),
      }),
      rateLimitsByLimitId: z.null(),
      rateLimitResetCredits: z.null(),
      accountId: z.null(),
      rateLimitUpsell: z.null(),
    }),
  queue: unqueued,
  needs: 'none',
  mutates: false,
});

export const accountBedrockCheckGovCloudRequirements = request('account/bedrock/checkGovCloudRequirements', {
  params: () => z.object({}),
  result: () => z.object({ isGovCloud: z.literal(false), shouldWarn: z.literal(false) }),
  queue: unqueued,
  needs: 'none',
  mutates: false,
  experimental: true,
});

export const remoteControlStatusRead = request('remoteControl/status/read', {
  params: () => z.object({}),
  result: () =>
    z.object({
      status: z.literal('disabled'),
      serverName: z.string(),
      installationId: z.string(),
      environmentId: z.null(),
    }),
  queue: unqueued,
  needs: 'none',
  mutates: false,
  experimental: true,
});

export const accountLoginStart = request('account/login/start', {
  params: () =>
    z.discriminatedUnion('type', [
      z.object({
        type: z.literal('apiKey'),
        apiKey: z.string(),
        /** Ours: whose key it is; the configured provider when not given. */
        modelProvider: z.string().nullish(),
      }),
      z.object({
        type: z.enum(['chatgpt', 'chatgptDeviceCode', 'chatgptAuthTokens', 'amazonBedrock', 'amazonBedrockAccessKeys']),
      }),
    ]),
  result: () => z.object({ type: z.literal('apiKey') }),
  queue: accountQueue,
  needs: 'admin',
  mutates: 'effect',
});

export const accountLoginCancel = request('account/login/cancel', {
  params: () => z.object({ loginId: z.string() }),
  result: () => z.object({ status: z.literal('notFound') }),
  queue: unqueued,
  needs: 'admin',
  mutates: false,
});

export const accountLogout = request('account/logout', {
  /** Ours: whose key to forget; all of them when not given. */
  params: () => z.object({ modelProvider: z.string().nullish() }),
  result: () => z.object({}),
  queue: accountQueue,
  needs: 'admin',
  mutates: 'effect',
});

export const accountMethods = {
  accountRead,
  getAuthStatus,
  accountRateLimitsRead,
  accountBedrockCheckGovCloudRequirements,
  remoteControlStatusRead,
  accountLoginStart,
  accountLoginCancel,
  accountLogout,
};

export const accountLoginCompleted = notification('account/login/completed', () =>
  z.object({
    loginId: z.string().nullable(),
    success: z.boolean(),
    error: z.string().nullable(),
    onboardingEntrypoint: z.null(),
  }),
);

export const accountUpdated = notification('account/updated', () =>
  z.object({ authMode: authMode(), planType: z.null(), reason: z.null() }),
);
