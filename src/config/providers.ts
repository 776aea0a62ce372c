// The model providers that turns can run on: those that everybody has, and those of the configuration.

import { configError } from './faults.ts';
import type { Config, ModelProviderEntry } from './schema.ts';

export interface Provider {
  readonly id: string;
  readonly name: string;
  /** Without it the provider cannot be reached: only the mock provider has none. */
  readonly baseUrl: string | undefined;
  readonly wire: 'responses' | 'chat' | 'anthropic';
  /** It knows tools that take plain text by a grammar. */
  readonly hasCustomTools: boolean;
  /** Its answers can be held to a schema. */
  readonly hasOutputSchemas: boolean;
  readonly hasFileTools: boolean;
  /** It may be asked which models it has. */
  readonly listsModels: boolean;
  /** What the configuration says of its models. */
  readonly models: NonNullable<ModelProviderEntry['models']>;
  /** The environment variable that holds the key; goes before a stored key. */
  readonly envKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly requestMaxRetries: number;
  readonly streamMaxRetries: number;
  /** Silence after which a stream counts as broken, in milliseconds. */
  readonly streamIdleMs: number;
}

/** What turns run on when nothing is configured. */
const DEFAULT_PROVIDER = 'openai';
/** The provider of the scripted backend, which needs none. */
const MOCK_PROVIDER = 'mock';

const BUILT_IN: Readonly<Record<string, ModelProviderEntry>> = {
  openai: { name: 'OpenAI', base_url: 'https://api.openai.com/v1', wire_api: 'responses', env_key: 'OPENAI_API_KEY' },
  anthropic: {
    name: 'Anthropic',
    base_url: 'https://api.anthropic.com/v1',
    wire_api: 'anthropic',
    env_key: 'ANTHROPIC_API_KEY',
  },
};

/** The id of the provider that a new thread gets when nobody names one. */
export function defaultProviderId(config: Config): string {
  return config.model_provider ?? (config.backend === 'mock' ? MOCK_PROVIDER : DEFAULT_PROVIDER);
}

/** Those that are built in and those of the configuration, also such as cannot be used. */
export const providerIds = (config: Config): readonly string[] => [
  ...new Set([...Object.keys(BUILT_IN), ...Object.keys(config.model_providers)]),
];

/** Whether it needs no entry in the configuration. */
export const isBuiltIn = (id: string): boolean => Object.hasOwn(BUILT_IN, id);

/** Whether turns could name it. */
export const hasProvider = (config: Config, id: string): boolean => entryOf(config, id) !== undefined;

/** Throws as *invalid* when there is no such provider, or it has no address. */
export function providerOf(config: Config, id: string = defaultProviderId(config)): Provider {
  const provider = settingsOfProvider(config, id);
  if (provider.baseUrl === undefined && id !== MOCK_PROVIDER) {
    throw configError(`model provider \`${id}\` has no base_url`);
  }
  return provider;
}

/** The same for one that has no address yet. */
export function settingsOfProvider(config: Config, id: string): Provider {
  const entry = entryOf(config, id);
  if (!entry)
    throw configError(`Model provider \`${id}\` not found`, {
      type: 'modelProviderNotConfigured',
      modelProvider: id,
    });
  return {
    id,
    name: entry.name ?? id,
    baseUrl: entry.base_url,
    wire: entry.wire_api ?? 'responses',
    hasCustomTools: entry.custom_tools ?? false,
    hasOutputSchemas: entry.output_schemas ?? true,
    hasFileTools: entry.file_tools ?? false,
    listsModels: entry.list_models ?? true,
    models: entry.models ?? {},
    envKey: entry.env_key,
    headers: entry.http_headers ?? {},
    query: entry.query_params ?? {},
    requestMaxRetries: entry.request_max_retries ?? 4,
    streamMaxRetries: entry.stream_max_retries ?? 5,
    streamIdleMs: entry.stream_idle_timeout_ms ?? 300_000,
  };
}

/** Settings of a built-in provider may be changed one by one. */
function entryOf(config: Config, id: string): ModelProviderEntry | undefined {
  const own = Object.hasOwn(config.model_providers, id) ? config.model_providers[id] : undefined;
  const builtIn = Object.hasOwn(BUILT_IN, id) ? BUILT_IN[id] : undefined;
  if (own || builtIn) return { ...builtIn, ...own };
  return id === MOCK_PROVIDER && config.backend === 'mock' ? { name: 'Mock' } : undefined;
}
