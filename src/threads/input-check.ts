// What clients may hand to a turn: not too much, nothing out of their reach, and nothing that the model cannot take.

import type { OwnSettings } from '../agent/backend.ts';
import type { Principal } from '../auth/principal.ts';
import { AppError } from '../base/errors.ts';
import { remoteNames } from '../fs/denials.ts';
import { MAX_INPUT_CHARACTERS, MAX_INPUT_PARTS, MAX_TEXT_ELEMENTS, type UserInput } from '../model/input.ts';
import type { ThreadSettings } from '../model/thread.ts';
import type { ThreadRuntime } from './runtime.ts';
import type { SettingsParts } from './settings.ts';

/** Rejects input that no turn takes: too large a text, or a file beyond what a remote client may name. */
export async function checkInput(
  input: readonly UserInput[],
  principal: Principal,
  parts: SettingsParts,
): Promise<void> {
  const characters = input.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0);
  const tooLarge = { input_error_code: 'input_too_large' };
  if (characters > MAX_INPUT_CHARACTERS) {
    throw new AppError('invalid', `Input exceeds the maximum length of ${MAX_INPUT_CHARACTERS} characters.`, {
      ...tooLarge,
      max_chars: MAX_INPUT_CHARACTERS,
      actual_chars: characters,
    });
  }
  if (input.length > MAX_INPUT_PARTS)
    throw new AppError('invalid', `Input exceeds the maximum of ${MAX_INPUT_PARTS} parts.`, tooLarge);
  const elements = input.reduce((sum, part) => sum + (part.type === 'text' ? part.text_elements.length : 0), 0);
  if (elements > MAX_TEXT_ELEMENTS)
    throw new AppError('invalid', `Input exceeds the maximum of ${MAX_TEXT_ELEMENTS} text elements.`, tooLarge);
  if (principal.isLocal) return;
  const paths = input.flatMap((part) => ('path' in part ? [part.path] : []));
  if (paths.length === 0) return;
  const mayName = await remoteNames(await parts.config.load());
  for (const path of paths) {
    if (await mayName(path)) continue;
    throw new AppError('forbidden', 'a file of the input is beyond the folders that remote clients may have here');
  }
}

/** Who is to take input, with the settings of its own. */
export interface Taker {
  readonly settings: Pick<ThreadSettings, 'model' | 'modelProvider'>;
  readonly own: OwnSettings | undefined;
}

export const takerOf = (
  { meta, ownSettings: own }: ThreadRuntime,
  settings: Taker['settings'] = meta.settings,
): Taker => ({ settings, own });

const KINDS: Partial<Record<UserInput['type'], 'image' | 'audio'>> = {
  image: 'image',
  localImage: 'image',
  audio: 'audio',
  localAudio: 'audio',
};

/** Rejects as *invalid* images for a model that takes none, and sound, which no wire form here carries. */
export async function checkModalities(
  input: readonly UserInput[],
  { settings, own }: Taker,
  parts: SettingsParts,
): Promise<void> {
  const needed = new Set(input.flatMap(({ type }) => KINDS[type] ?? []));
  if (needed.size === 0) return;
  const refuse = (modality: string, text: string) => {
    const { model } = settings;
    throw new AppError('invalid', text, { input_error_code: 'unsupported_modality', modality, model });
  };
  if (needed.has('audio')) refuse('audio', 'audio is not given to models here: leave it out, or give its text');
  if (needed.has('image') && !(await parts.takesImages(settings, own)))
    refuse('image', `the model ${settings.model} takes no images: choose one that does, or leave them out`);
}
