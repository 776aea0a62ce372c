// Ways for people and agent to work together, and what the model is told of the one in force.

import type { ThreadSettings } from '../model/thread.ts';
import { BASE_INSTRUCTIONS, placeText, type Surroundings } from './base-instructions.ts';

const PLAN_INSTRUCTIONS = `You are in plan mode: work out with the user what is to be done, and change nothing.

- Look around as you like: read files, search, run commands that only look. Change no files, and run nothing that does.
- Settle what is open. What the files can tell, find out yourself; what only the user can decide, ask.
- When nothing is left to decide, propose the plan. Put it between two lines of their own, in Markdown:

<proposed_plan>
(the plan: what changes where, in which order, and how it is checked)
</proposed_plan>

Propose it whole each time, also when only a part of it changes. The user leaves plan mode to have it carried out; until then a request to
do something is a request to plan it.`;

interface Mode {
  readonly mode?: unknown;
  readonly settings?: { readonly developer_instructions?: unknown };
}

export const isPlanning = ({ collaborationMode }: Pick<ThreadSettings, 'collaborationMode'>): boolean =>
  (collaborationMode as Mode | null)?.mode === 'plan';

/** All that the model is told before the conversation begins. Instructions that are given, an empty text too, stand in for ours. */
export function instructionsOf(settings: ThreadSettings, surroundings: Surroundings): string {
  const { baseInstructions, developerInstructions } = settings;
  const base = baseInstructions ?? BASE_INSTRUCTIONS;
  const place = baseInstructions === '' ? null : placeText(settings, surroundings);
  return [base, place, developerInstructions, modeInstructions(settings)].filter(Boolean).join('\n\n');
}

/** The mode's own words: the client's if it gives any. */
export function modeInstructions(settings: Pick<ThreadSettings, 'collaborationMode'>): string | null {
  const given = (settings.collaborationMode as Mode | null)?.settings?.developer_instructions;
  if (typeof given === 'string') return given;
  return isPlanning(settings) ? PLAN_INSTRUCTIONS : null;
}
