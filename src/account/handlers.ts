// Stores and forgets keys of providers; answers the rest of the account's questions with what is true here.

import { hostname } from 'node:os';
import { AppError, isAppError } from '../base/errors.ts';
import { providerOf } from '../config/providers.ts';
import type { Config } from '../config/schema.ts';
import { implement, type Route } from '../rpc/router.ts';
import type { Sessions } from '../rpc/session.ts';
import type { KeyStore } from './keys.ts';
import { accountLoginCompleted, accountMethods, accountUpdated } from './methods.ts';

export interface AccountHandlerOptions {
  readonly keys: KeyStore;
  /** Those to be told of changes. */
  readonly sessions: Sessions;
  /** Rejects when the configuration cannot be used. */
  readonly config: () => Promise<Config>;
  readonly installationId: () => Promise<string>;
}

const NO_LIMIT = {
  limitId: null,
  limitName: null,
  normalModelSlug: null,
  primary: null,
  secondary: null,
  credits: null,
  individualLimit: null,
  spendControlReached: null,
  planType: null,
  rateLimitReachedType: null,
} as const;

export function accountHandlers({ keys, sessions, config, installationId }: AccountHandlerOptions): Route[] {
  /** Nobody's key is in use while no provider can be told from the configuration. */
  const authMode = async () => {
    try {
      const provider = providerOf(await config());
      return (await keys.stored(provider.id)) === undefined ? null : 'apikey';
    } catch (error) {
      if (isAppError(error, 'invalid')) return null;
      throw error;
    }
  };
  const announce = (mode: 'apikey' | null) => {
    for (const session of sessions) session.notify(accountUpdated, { authMode: mode, planType: null, reason: null });
  };
  return implement(accountMethods, {
    accountRead: async () => ({ account: null, userId: null, requiresOpenaiAuth: false, workspaceRouting: null }),
    getAuthStatus: async () => ({ authMethod: await authMode(), authToken: null, requiresOpenaiAuth: false }),
    accountRateLimitsRead: async () => ({
      ordinaryUsageAllowed: null,
      rateLimits: NO_LIMIT,
      rateLimitsByLimitId: null,
      rateLimitResetCredits: null,
      accountId: null,
      rateLimitUpsell: null,
    }),
    accountBedrockCheckGovCloudRequirements: async () => ({ isGovCloud: false, shouldWarn: false }),
    remoteControlStatusRead: async () => ({
      status: 'disabled',
      serverName: hostname(),
      installationId: await installationId(),
      environmentId: null,
    }),
    accountLoginStart: async (params, { session, afterReply }) => {
      if (params.type !== 'apiKey') throw unsupportedLogin(params.type);
      const provider = providerOf(await config(), params.modelProvider ?? undefined);
      await keys.store(provider.id, checkedKey(params.apiKey));
      const mode = await authMode();
      afterReply(() => {
        session.notify(accountLoginCompleted, {
          loginId: null,
          success: true,
          error: null,
          onboardingEntrypoint: null,
        });
        announce(mode);
      });
      return { type: 'apiKey' };
    },
    accountLoginCancel: async () => ({ status: 'notFound' }),
    accountLogout: async ({ modelProvider }, { afterReply }) => {
      await keys.forget(modelProvider ?? undefined);
      const mode = await authMode();
      afterReply(() => announce(mode));
      return {};
    },
  });
}

function unsupportedLogin(type: string): AppError {
  const reason = 'signing in to a vendor account is not part of this server; give an API key instead';
  return new AppError('unsupported', `account/login/start with ${type} is not supported: ${reason}`, {
    kind: 'unsupported',
    method: 'account/login/start',
    reason,
  });
}

/** A key travels in a header. */
function checkedKey(key: string): string {
  const trimmed = key.trim();
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  throw new AppError('invalid', 'apiKey must be a text of visible ASCII characters, without blanks');
}
