// Which backend runs the turns, and what the configured one is told about providers and models.

import { apiKeyOf, type KeyStore } from './account/keys.ts';
import type { Backend, OwnSettings } from './agent/backend.ts';
import { createMockBackend } from './agent/backends/mock.ts';
import { type CatalogueSource, createRuntimeBackend, type ProviderSetup } from './agent/backends/runtime.ts';
import { createUnavailableBackend } from './agent/backends/unavailable.ts';
import { takesImages } from './agent/modalities.ts';
import type { ProviderAccess } from './agent/models/client.ts';
import { AppError } from './base/errors.ts';
import type { ConfigSource } from './config/load.ts';
import { defaultProviderId, isBuiltIn, type Provider, providerOf } from './config/providers.ts';
import { NO_MODEL } from './config/thread-defaults.ts';
import type { SettingsParts } from './threads/settings.ts';

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

/** What the settings of threads are made of. */
export const settingsParts = (backend: Backend, config: ConfigSource, cwd: string): SettingsParts => ({
  ...{ config, cwd },
  fallbackModel: (own) => defaultModelOf(backend, own),
  takesImages: (wanted, own) => takesImages(backend, wanted, own),
});

/** What a thread gets that names no model. A default provider that is gone is no reason against one that names another. */
async function defaultModelOf(backend: Backend, own?: OwnSettings): Promise<string> {
  const models = await backend.models(own === undefined ? {} : { own }).catch(() => []);
  return models.find((model) => model.isDefault)?.id ?? NO_MODEL;
}

/** Looks everything up when it is needed, so that a changed configuration counts at the next turn. */
function createConfiguredBackend(parts: BackendParts): Backend {
  return createRuntimeBackend({
    provider: (id, own) => setupOf(id, { ...parts, config: parts.config.viewOf(own) }),
    catalogue: (id, own) => catalogueSource(id, { ...parts, config: parts.config.viewOf(own) }),
  });
}

async function setupOf(id: string, parts: BackendParts): Promise<ProviderSetup> {
  const config = await parts.config.load();
  const provider = providerOf(config, id);
  return {
    access: await accessOf(provider, parts),
    retries: { request: provider.requestMaxRetries, stream: provider.streamMaxRetries },
    compactTokens: config.model_auto_compact_token_limit,
    hasOutputSchemas: provider.hasOutputSchemas,
    hasFileTools: provider.hasFileTools,
    showsPatches: config.features.apply_patch_streaming_events,
  };
}

/** Rejects as *unavailable* and says what to set when there is no address, or no key where there should be one. */
export async function accessOf(provider: Provider, parts: Omit<BackendParts, 'config'>): Promise<ProviderAccess> {
  const { id, envKey, baseUrl } = provider;
  if (baseUrl === undefined) throw new AppError('unavailable', `the provider ${id} has no base_url`);
  const apiKey = await apiKeyOf(provider, parts.environment, parts.keys);
  if (apiKey === undefined && envKey !== undefined)
    throw new AppError(
      'unavailable',
      `the environment variable ${envKey}, which holds the key of the provider ${id}, is empty: set it for the server, or ` +
        (isBuiltIn(id) ? 'choose another `model_provider`' : 'leave `env_key` out of the configuration'),
    );
  return {
    id,
    baseUrl,
    wire: provider.wire,
    apiKey,
    headers: provider.headers,
    query: provider.query,
    streamIdleMs: provider.streamIdleMs,
    hasCustomTools: provider.hasCustomTools,
  };
}

async function catalogueSource(id: string | undefined, parts: BackendParts): Promise<CatalogueSource> {
  // A file that cannot be used keeps turns from beginning, not clients from seeing what there is.
  const { config } = await parts.config.state();
  const provider = providerOf(config, id ?? defaultProviderId(config));
  const isDefault = provider.id === defaultProviderId(config);
  return {
    provider: provider.id,
    configured: provider.models,
    chosen: isDefault ? config.model : null,
    contextWindow: config.model_context_window,
    access: async () => (provider.listsModels ? accessOf(provider, parts).catch(() => undefined) : undefined),
  };
}

/** What was configured, if that is one of ours. Throws as *invalid* for the one that there is not. */
export function chosenBackend(configured: string | null): BackendName | undefined {
  if (configured === 'external') {
    throw new AppError('invalid', 'the backend "external" is not available: choose runtime, mock or unavailable');
  }
  return configured === 'runtime' || configured === 'mock' || configured === 'unavailable' ? configured : undefined;
}
