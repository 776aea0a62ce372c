// The backend of a server to which nobody has given a model: says what to configure, at every turn.

import { throwIfAborted } from '../../base/signals.ts';
import { turnError } from '../../model/turn.ts';
import type { Backend } from '../backend.ts';

const WHAT_TO_DO =
  'No model is configured. Set backend: runtime, model, model_provider and an entry in model_providers in config.yaml, ' +
  'or start with --backend mock to try without a model.';

/** `reason` replaces the text where something more particular is missing. */
export function createUnavailableBackend(reason: string = WHAT_TO_DO): Backend {
  return {
    name: 'unavailable',
    abilities: { steer: false, images: false },
    models: async () => [
      {
        id: 'unavailable',
        displayName: 'No model configured',
        description: reason,
        provider: 'unavailable',
        hidden: false,
        isDefault: true,
        efforts: [{ effort: 'medium', description: 'There is no model yet' }],
        defaultEffort: 'medium',
        modalities: ['text'],
        contextWindow: null,
      },
    ],
    async *run(_turn, _tools, signal) {
      throwIfAborted(signal);
      yield [{ type: 'failed', error: turnError(reason, 'other') }];
    },
    close: async () => {},
  };
}
