// Which backend runs the turns, and what the configured one is told about providers and models.

import { apiKeyOf, type KeyStore } from './account/keys.ts';
import type { Backend } from './agent/backend.ts';
import { configuredModel } from './agent/backends/configured-model.ts';
import { createMockBackend } from './agent/backends/mock.ts';
import { createRuntimeBackend } from './agent/backends/runtime.ts';
import { createUnavailableBackend } from './agent/backends/unavailable.ts';
import { AppError } from './base/errors.ts';
import type { ConfigSource } from './config/load.ts';
import { defaultProviderId, providerOf } from './config/providers.ts';

export const BACKENDS = ['runtime', 'mock', 'unavailable'] as const;
export type BackendName = (typeof BACKENDS)[number];

export interface BackendParts {
  readonly config: ConfigSource;
  readonly keys: KeyStore;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function createBackend(name: BackendName, parts: BackendParts): Backend {
  switch (name) {
    case 'mock':
      return createMockBackend();
    case 'unavailable':
      return createUnavailableBackend();
    case 'runtime':
      return createConfiguredBackend(parts);
  }
}

/** Looks everything up when it is needed, so that a changed configuration counts at the next turn. */
function createConfiguredBackend({ config, keys, environment }: BackendParts): Backend {
  return createRuntimeBackend({
    provider: async (id) => {
      const provider = providerOf(await config.load(), id);
      if (provider.baseUrl === undefined) throw new AppError('unavailable', `the provider ${id} has no base_url`);
      const apiKey = await apiKeyOf(provider, environment, keys);
      if (apiKey === undefined && provider.envKey !== undefined)
        throw new AppError(
          'unavailable',
          `the environment variable ${provider.envKey}, which holds the key of the provider ${id}, is empty: set it for the server, or leave \`env_key\` out of the configuration`,
        );
      return {
        access: {
          id: provider.id,
          baseUrl: provider.baseUrl,
          wire: provider.wire,
          apiKey,
          headers: provider.headers,
          query: provider.query,
          streamIdleMs: provider.streamIdleMs,
          hasCustomTools: provider.hasCustomTools,
        },
        retries: { request: provider.requestMaxRetries, stream: provider.streamMaxRetries },
      };
    },
    models: async () => {
      const { config: now } = await config.state();
      if (now.model === null) return [];
      const provider = defaultProviderId(now);
      return [configuredModel({ id: now.model, provider, isDefault: true, contextWindow: now.model_context_window })];
    },
  });
}
