// What clients may hand to a turn: not too much, nothing out of their reach, and nothing that the model cannot take.

import type { Principal } from '../auth/principal.ts';
import { AppError } from '../base/errors.ts';
import { isBelow } from '../fs/containment.ts';
import { MAX_INPUT_CHARACTERS, type UserInput } from '../model/input.ts';
import type { ThreadSettings } from '../model/thread.ts';
import type { SettingsParts } from './settings.ts';

/** Rejects input that no turn takes: too large a text, or a file beyond what a remote client may name. */
export async function checkInput(
  input: readonly UserInput[],
  principal: Principal,
  parts: SettingsParts,
): Promise<void> {
  const characters = input.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0);
  if (characters > MAX_INPUT_CHARACTERS) {
    throw new AppError('invalid', `Input exceeds the maximum length of ${MAX_INPUT_CHARACTERS} characters.`, {
      input_error_code: 'input_too_large',
      max_chars: MAX_INPUT_CHARACTERS,
      actual_chars: characters,
    });
  }
  if (principal.isLocal) return;
  const { remote } = await parts.config.load();
  for (const part of input) {
    if (!('path' in part) || (await isBelow(part.path, remote.roots))) continue;
    throw new AppError('forbidden', 'a file of the input is beyond the folders that remote clients may have here');
  }
}

/** Rejects as *invalid* images for a model that takes none. */
export async function checkModalities(
  input: readonly UserInput[],
  settings: Pick<ThreadSettings, 'model' | 'modelProvider'>,
  parts: SettingsParts,
): Promise<void> {
  const hasImage = input.some(({ type }) => type === 'image' || type === 'localImage');
  if (!hasImage || (await parts.takesImages(settings))) return;
  throw new AppError(
    'invalid',
    `the model ${settings.model} takes no images: choose one that does, or leave them out`,
    {
      input_error_code: 'unsupported_modality',
      modality: 'image',
      model: settings.model,
    },
  );
}
