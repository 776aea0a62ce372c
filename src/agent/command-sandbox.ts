// From a thread's sandbox policy and what was granted beyond it to what one of its commands may touch.

import type { RunsAs } from '../approvals/rules.ts';
import type { Permissions } from '../model/approval.ts';
import type { ThreadSettings } from '../model/thread.ts';
import { confinementOf } from '../process/confinement.ts';
import { isSandboxed, type SandboxPolicy } from '../sandbox/policy.ts';

/** `hidden`: what no command may see, such as the data directory and token files. */
export function commandSandbox(
  settings: ThreadSettings,
  runs: RunsAs,
  hidden: readonly string[],
  granted: Permissions,
): SandboxPolicy {
  const policy = runs === 'sandboxed' ? settings.sandboxPolicy : ({ type: 'dangerFullAccess' } as const);
  const confinement = confinementOf(policy, [settings.cwd, ...settings.workspaceRoots], hidden, settings.rootPlaces);
  return isSandboxed(confinement) ? widened(confinement, granted) : confinement;
}

/** What may only be read of a thread stays so: only the granted folders become writable, no folder for temporary files with them. */
function widened(policy: SandboxPolicy, { network, read, write }: Permissions): SandboxPolicy {
  const isReadOnly = policy.mode === 'read-only' && write.length > 0;
  return {
    ...policy,
    ...(isReadOnly ? { mode: 'workspace-write', excludeTmpdir: true, excludeSlashTmp: true } : {}),
    writableRoots: [...new Set([...policy.writableRoots, ...write])],
    workspace: [...new Set([...policy.workspace, ...read, ...write])],
    ...(policy.readable ? { readable: { ...policy.readable, paths: [...policy.readable.paths, ...read] } } : {}),
    network: policy.network || network,
  };
}
