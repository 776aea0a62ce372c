// From a policy as clients write it to what one command may touch.

import { tmpdir } from 'node:os';
import { type HeldPolicy, rulesOf } from '../model/policy.ts';
import type { SandboxPolicy as Confinement } from '../sandbox/policy.ts';
import { ruledPaths } from '../sandbox/ruled-paths.ts';

/**
 * `roots`: the workspace, visible wherever it lies, and writable under `workspaceWrite` beside the roots that the policy names. `hidden`: what no sandboxed
 * command may see, such as the data directory and token files. `places`: where the roots led when they were chosen, if it is known.
 */
export function confinementOf(
  policy: HeldPolicy,
  roots: readonly string[],
  hidden: readonly string[],
  places?: Readonly<Record<string, string>>,
): Confinement {
  const { denied, readOnly, writable, patterns, readable } = ruledPaths(policy, roots, places);
  const hosts = rulesOf(policy)?.network;
  const base = {
    hidden,
    ...(denied.length > 0 ? { denied } : {}),
    ...(readOnly.length > 0 ? { readOnly } : {}),
    ...(patterns ? { patterns } : {}),
    ...(readable ? { readable } : {}),
    ...(hosts ? { hosts } : {}),
    workspace: roots,
    ...(places ? { places } : {}),
    tmpdir: tmpdir(),
    writableRoots: [],
    network: false,
    excludeTmpdir: false,
    excludeSlashTmp: false,
  };
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
        writableRoots: writable,
        network: policy.networkAccess,
        excludeTmpdir: policy.excludeTmpdirEnvVar,
        excludeSlashTmp: policy.excludeSlashTmp,
      };
  }
}
