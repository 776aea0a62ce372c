// The named permission profiles that every thread can be given, and what each stands for.

import { type SandboxMode, type SandboxPolicy, sandboxPolicyOf } from '../model/policy.ts';
import { configError } from './faults.ts';
import type { Config } from './schema.ts';

const MODES: ReadonlyMap<string, SandboxMode> = new Map([
  [':read-only', 'read-only'],
  [':workspace', 'workspace-write'],
  [':danger-full-access', 'danger-full-access'],
]);

/** From the narrowest to the widest. */
export const PROFILE_IDS: readonly string[] = [...MODES.keys()];

/** Throws as *invalid* when there is no such profile. */
export function modeOfProfile(id: string): SandboxMode {
  const mode = MODES.get(id);
  if (!mode) throw configError(`permission profile \`${id}\` not found; there are: ${PROFILE_IDS.join(', ')}`);
  return mode;
}

/** What a profile lets commands touch. Throws as *invalid* when there is no such profile. */
export function policyOfProfile(id: string): SandboxPolicy {
  return sandboxPolicyOf(modeOfProfile(id));
}

export function profileOfMode(mode: SandboxMode): { readonly id: string; readonly extends: null } {
  const id = PROFILE_IDS.find((each) => MODES.get(each) === mode) ?? ':read-only';
  return { id, extends: null };
}

/** The narrowest mode that gives as much as a policy. */
export function modeOfPolicy(policy: SandboxPolicy): SandboxMode {
  if (policy.type === 'readOnly') return 'read-only';
  return policy.type === 'workspaceWrite' ? 'workspace-write' : 'danger-full-access';
}

/** Whether a mode gives no more than the ceiling does. */
export function isWithin(mode: SandboxMode, ceiling: SandboxMode): boolean {
  const order = [...MODES.values()];
  return order.indexOf(mode) <= order.indexOf(ceiling);
}

/** What a mode lets commands touch, with the configured roots and network. */
export function policyOfMode(config: Config, mode: SandboxMode): SandboxPolicy {
  if (mode !== 'workspace-write') return sandboxPolicyOf(mode);
  const extra = config.sandbox_workspace_write;
  return {
    type: 'workspaceWrite',
    writableRoots: extra.writable_roots,
    networkAccess: extra.network_access,
    excludeTmpdirEnvVar: extra.exclude_tmpdir_env_var,
    excludeSlashTmp: extra.exclude_slash_tmp,
  };
}
