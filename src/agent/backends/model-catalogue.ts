// The catalogue of one provider: what the configuration says of its models, and what the provider itself says.

import type { Model } from '../backend.ts';
import type { ListedModel } from '../models/listing.ts';
import { configuredModel } from './configured-model.ts';

/** What the configuration says of a model; what it leaves out is taken from the provider, else assumed. */
export interface ModelSettings {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly context_window?: number | undefined;
  readonly modalities?: readonly ('text' | 'image' | 'audio')[] | undefined;
  readonly efforts?: readonly string[] | undefined;
  readonly default_effort?: string | undefined;
  readonly hidden?: boolean | undefined;
}

export interface CatalogueParts {
  readonly provider: string;
  /** By model id. */
  readonly configured: Readonly<Record<string, ModelSettings>>;
  readonly listed: readonly ListedModel[];
  /** What new threads get; null: no model of this provider was chosen. */
  readonly chosen: string | null;
  /** Of the chosen model, where neither its settings nor the provider say. */
  readonly contextWindow: number | null;
}

/** Lists name everything that a provider serves; these do not hold a conversation. */
const NO_CONVERSATION =
  /embed|whisper|(^|[-_/])tts|dall-e|moderation|transcribe|realtime|rerank|(^|[-_/])(sora|imagen|veo|davinci-002|babbage-002)|gpt-image/i;

/** The chosen model first, then the others of the configuration, then those of the provider's list in its order. */
export function catalogueOf(parts: CatalogueParts): Model[] {
  const { configured, listed, chosen } = parts;
  const listedById = new Map(listed.map((model) => [model.id, model]));
  const own = Object.keys(configured);
  const ids = new Set([...(chosen === null ? [] : [chosen]), ...own, ...listedById.keys()]);
  const defaultId = chosen ?? own[0];
  return [...ids].map((id) => {
    const settings = Object.hasOwn(configured, id) ? configured[id] : undefined;
    return modelOf(id, settings, listedById.get(id), id === defaultId, parts);
  });
}

function modelOf(
  id: string,
  settings: ModelSettings = {},
  listed: ListedModel | undefined,
  isDefault: boolean,
  { provider, chosen, contextWindow }: CatalogueParts,
): Model {
  const assumed = configuredModel({ id, provider, isDefault });
  const efforts = settings.efforts?.map(
    (effort) => assumed.efforts.find((each) => each.effort === effort) ?? { effort, description: effort },
  );
  const known = efforts ?? assumed.efforts;
  const usual = known.find(({ effort }) => effort === assumed.defaultEffort) ?? known[0];
  return {
    ...assumed,
    displayName: settings.name ?? listed?.displayName ?? id,
    description: settings.description ?? assumed.description,
    hidden: settings.hidden ?? (!isDefault && NO_CONVERSATION.test(id)),
    efforts: known,
    defaultEffort: settings.default_effort ?? usual?.effort ?? 'none',
    modalities: settings.modalities ?? listed?.modalities ?? assumed.modalities,
    contextWindow: settings.context_window ?? (id === chosen ? contextWindow : null) ?? listed?.contextWindow ?? null,
  };
}
