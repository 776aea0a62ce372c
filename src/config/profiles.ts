// The named permission profiles that threads can be given, and what each stands for.

import { homedir } from 'node:os';
import { isAbsolute, normalize } from 'node:path';
import { type HeldPolicy, type SandboxMode, type SandboxPolicy, sandboxPolicyOf } from '../model/policy.ts';
import type { ThreadSettings } from '../model/thread.ts';
import { policyOfTable } from './configured-profiles.ts';
import { configError } from './faults.ts';
import { ProfileFault, readProfile } from './profile-tables.ts';
import type { Config } from './schema.ts';

const MODES: ReadonlyMap<string, SandboxMode> = new Map([
  [':read-only', 'read-only'],
  [':workspace', 'workspace-write'],
  [':danger-full-access', 'danger-full-access'],
]);

/** From the narrowest to the widest. */
export const BUILT_IN_PROFILES: readonly (readonly [id: string, mode: SandboxMode])[] = [...MODES];

/** Undefined: it is none of those that are always there. */
export const modeOfProfile = (id: string): SandboxMode | undefined => MODES.get(id);

export interface ChosenProfile extends Pick<ThreadSettings, 'permissionProfile'> {
  readonly sandboxPolicy: HeldPolicy;
  readonly description: string | null;
  /** Absolute folders that the thread works in besides its own. */
  readonly roots: readonly string[];
}

/** What a profile lets commands touch. Throws as *invalid* when there is no such profile, or it cannot be enforced. */
export function profileOf(config: Pick<Config, 'permissions'>, id: string): ChosenProfile {
  const mode = modeOfProfile(id);
  const plain = { description: null, roots: [], permissionProfile: { id, extends: null } };
  if (mode) return { ...plain, sandboxPolicy: sandboxPolicyOf(mode) };
  try {
    const profile = readProfile(config, id);
    const { description, roots } = profile;
    const permissionProfile = { id, extends: profile.extends };
    return { description, roots: rootsOf(id, roots), permissionProfile, sandboxPolicy: policyOfTable(profile) };
  } catch (error) {
    if (error instanceof ProfileFault) throw configError(error.message);
    throw error;
  }
}

function rootsOf(id: string, roots: readonly string[]): readonly string[] {
  return roots.map((root) => {
    const path = root.replace(/^~(?=\/|$)/, homedir());
    if (!isAbsolute(path)) throw new ProfileFault(`permissions profile \`${id}\`: \`${root}\` is not an absolute path`);
    return normalize(path).replace(/(.)\/+$/, '$1');
  });
}

export function profileOfMode(mode: SandboxMode): { readonly id: string; readonly extends: null } {
  const [id] = BUILT_IN_PROFILES.find(([, each]) => each === mode) ?? [':read-only'];
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
