// From a thread's sandbox policy to what one of its commands may touch.

import type { RunsAs } from '../approvals/rules.ts';
import type { ThreadSettings } from '../model/thread.ts';
import { confinementOf } from '../process/confinement.ts';
import type { SandboxPolicy } from '../sandbox/policy.ts';

/** `hidden`: what no command may see, such as the data directory and token files. */
export function commandSandbox(settings: ThreadSettings, runs: RunsAs, hidden: readonly string[]): SandboxPolicy {
  const policy = runs === 'sandboxed' ? settings.sandboxPolicy : ({ type: 'dangerFullAccess' } as const);
  return confinementOf(policy, [settings.cwd, ...settings.workspaceRoots], hidden, settings.rootPlaces);
}
