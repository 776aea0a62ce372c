// The catalogue entry of a model of which only the configuration is known.

import type { Model } from '../backend.ts';

const EFFORTS: Model['efforts'] = [
  { effort: 'minimal', description: 'Hardly any reasoning, quickest answers' },
  { effort: 'low', description: 'Little reasoning' },
  { effort: 'medium', description: 'Balance of speed and depth' },
  { effort: 'high', description: 'Deep reasoning for hard tasks' },
  { effort: 'xhigh', description: 'Deepest reasoning, slowest answers' },
];

/** A model that the provider is trusted to have: every usual effort, text and images. */
export function configuredModel(given: {
  readonly id: string;
  readonly provider: string;
  readonly isDefault: boolean;
  readonly displayName?: string;
  readonly description?: string;
  readonly contextWindow?: number | null;
  readonly defaultEffort?: string;
}): Model {
  return {
    id: given.id,
    displayName: given.displayName ?? given.id,
    description: given.description ?? `${given.id} at ${given.provider}`,
    provider: given.provider,
    hidden: false,
    isDefault: given.isDefault,
    efforts: EFFORTS,
    defaultEffort: given.defaultEffort ?? 'medium',
    modalities: ['text', 'image'],
    contextWindow: given.contextWindow ?? null,
  };
}
