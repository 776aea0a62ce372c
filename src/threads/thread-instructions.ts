// The instructions that a thread begins with: read once, from what its client may see, and kept in the model's view.

import { reachOf } from '../agent/patch/reach.ts';
import { type ProjectInstructions, readInstructions } from '../agent/project-instructions.ts';
import type { ConfigSource } from '../config/load.ts';
import { isBelow, isInside, realPathOf } from '../fs/containment.ts';
import type { EventToStore } from '../history/store.ts';
import { rulesOf } from '../model/policy.ts';
import type { ThreadSettings } from '../model/thread.ts';
import type { Asker } from './settings.ts';

export interface InstructionSource {
  readonly config: ConfigSource;
  readonly dataDirectory: string;
  /** What no file of a project may lead to. */
  readonly hidden: readonly string[];
}

export async function instructionsOfStart(
  settings: ThreadSettings,
  { principal, client }: Asker,
  { config, dataDirectory, hidden }: InstructionSource,
): Promise<ProjectInstructions> {
  if (!settings.hasEnvironment) return { sources: [], text: null, problems: [] };
  const { project_doc_max_bytes, project_doc_fallback_filenames, remote } = await config.viewOf(client.settings).load();
  const reach = rulesOf(settings.sandboxPolicy) && (await reachOf(settings, hidden, false));
  const mayRead = async (real: string) => {
    const covers = await Promise.all(hidden.map((path) => realPathOf(path).catch(() => path)));
    if (covers.some((path) => isInside(real, path)) || reach?.standing(real) === 'hidden') return false;
    return principal.isLocal || isBelow(real, remote.roots);
  };
  return readInstructions(settings.cwd, {
    ...{ dataDirectory, mayRead },
    otherNames: project_doc_fallback_filenames,
    maxBytes: project_doc_max_bytes,
  });
}

/** What the log of the thread begins with. */
export function instructionEvents({ text }: ProjectInstructions, atMs: number): EventToStore[] {
  if (text === null) return [];
  return [{ atMs, event: { type: 'contextAdded', turnId: '', items: [{ type: 'note', text, isLasting: true }] } }];
}
