// From a thread's sandbox policy to what one of its commands may touch.

import { tmpdir } from 'node:os';
import type { RunsAs } from '../approvals/rules.ts';
import type { ThreadSettings } from '../model/thread.ts';
import type { SandboxPolicy } from '../sandbox/policy.ts';

/** `hidden`: what no command may see, such as the data directory and token files. */
export function commandSandbox(settings: ThreadSettings, runs: RunsAs, hidden: readonly string[]): SandboxPolicy {
  const { sandboxPolicy: policy } = settings;
  const base = {
    hidden,
    tmpdir: tmpdir(),
    writableRoots: [],
    network: false,
    excludeTmpdir: false,
    excludeSlashTmp: false,
  };
  if (runs !== 'sandboxed') return { ...base, mode: 'danger-full-access' };
  switch (policy.type) {
    case 'dangerFullAccess':
    case 'externalSandbox':
      return { ...base, mode: 'danger-full-access' };
    case 'readOnly':
      return { ...base, mode: 'read-only', network: policy.networkAccess };
    case 'workspaceWrite':
      return {
        ...base,
        mode: 'workspace-write',
        writableRoots: [...new Set([settings.cwd, ...settings.workspaceRoots, ...policy.writableRoots])],
        network: policy.networkAccess,
        excludeTmpdir: policy.excludeTmpdirEnvVar,
        excludeSlashTmp: policy.excludeSlashTmp,
      };
  }
}
