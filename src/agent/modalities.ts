// Whether a model sees what it is to be shown.

import type { ThreadSettings } from '../model/thread.ts';
import type { Backend, OwnSettings } from './backend.ts';

/** By what is known of the model without waiting for its provider; one of which nothing is known is trusted to see. */
export async function takesImages(
  backend: Pick<Backend, 'models'>,
  { model: id, modelProvider: provider }: Pick<ThreadSettings, 'model' | 'modelProvider'>,
  own?: OwnSettings,
): Promise<boolean> {
  const models = await backend.models({ provider, ...(own === undefined ? {} : { own }) }).catch(() => []);
  return models.find((model) => model.id === id)?.modalities.includes('image') ?? true;
}
