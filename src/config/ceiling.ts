// The operator's ceiling over threads of remote principals: what is wider is forbidden, never narrowed in silence.

import { AppError } from '../base/errors.ts';
import { type ApprovalPolicy, type HeldPolicy, hasNetwork, type ProfileRules, rulesOf } from '../model/policy.ts';
import type { ThreadSettings } from '../model/thread.ts';
import { isWithin, modeOfPolicy, profileOf } from './profiles.ts';
import type { Config } from './schema.ts';
import { expanded, type Table } from './tables.ts';
import { namedProfile } from './thread-defaults.ts';

/** Whether a path, links resolved, lies in or below one of the roots. */
export type IsBelow = (path: string, roots: readonly string[]) => Promise<boolean>;

export type CappedSettings = Pick<ThreadSettings, 'cwd' | 'workspaceRoots' | 'sandboxPolicy' | 'approvalPolicy'>;

/** What a remote principal may set by `config` overrides. */
const REMOTE_OVERRIDES: ReadonlySet<string> = new Set(['model', 'model_reasoning_effort']);

/** Rejects as *forbidden*, naming the setting, when one is wider than `remote` in the configuration allows. */
export async function checkCeiling(config: Config, settings: CappedSettings, isBelow: IsBelow): Promise<void> {
  const { remote } = config;
  if (!isWithin(modeOfPolicy(settings.sandboxPolicy), remote.sandbox)) {
    throw tooWide('sandbox', `at most ${remote.sandbox}`);
  }
  if (!keepsDenied(config, settings.sandboxPolicy)) {
    throw tooWide('another sandbox', 'one that denies the paths that default_permissions denies');
  }
  if (hasNetwork(settings.sandboxPolicy) && !allowsNetwork(config)) throw tooWide('network access', 'none');
  if (looseness(settings.approvalPolicy) > looseness(remote.approvals)) {
    const most = typeof remote.approvals === 'string' ? remote.approvals : 'granular';
    throw tooWide('approvalPolicy', `at most ${most}`);
  }
  const { sandboxPolicy } = settings;
  const writable = sandboxPolicy.type === 'workspaceWrite' ? sandboxPolicy.writableRoots : [];
  for (const path of [settings.cwd, ...settings.workspaceRoots, ...writable]) {
    if (await isBelow(path, remote.roots)) continue;
    const none = remote.roots.length === 0 ? ' (which names none)' : '';
    throw tooWide(`the folder ${path}`, `those below remote.roots in config.yaml of the server${none}`);
  }
}

/** Throws as *forbidden* when a remote principal's `config` overrides hold more than the model and its effort. */
export function checkRemoteOverrides(overrides: Table): void {
  const other = Object.keys(expanded(overrides)).find((key) => !REMOTE_OVERRIDES.has(key));
  if (other !== undefined) throw tooWide(`the setting ${other}`, [...REMOTE_OVERRIDES].join(' and '));
}

function tooWide(what: string, allowed: string): AppError {
  return new AppError('forbidden', `${what} is beyond what remote clients may have here: ${allowed}`);
}

/** Within the ceiling there is as much network as the operator gives to threads anyway. */
export function allowsNetwork({ remote, sandbox_workspace_write }: Config): boolean {
  return remote.sandbox === 'danger-full-access' || sandbox_workspace_write.network_access;
}

/** What the operator keeps from every thread is not given away by a client's own policy; full access, where it is within reach, is. */
function keepsDenied(config: Config, policy: HeldPolicy): boolean {
  const id = namedProfile(config);
  const wanted = id === undefined ? undefined : rulesOf(profileOf(config, id).sandboxPolicy);
  if (!wanted || policy.type === 'dangerFullAccess') return true;
  const held = rulesOf(policy);
  const isHeld = (paths: readonly string[], among: readonly string[] = []) =>
    paths.every((path) => among.includes(path));
  return (
    isHeld(wanted.denied, held?.denied) &&
    isHeld(wanted.workspace.denied, held?.workspace.denied) &&
    isHeld(wanted.patterns?.denied ?? [], held?.patterns?.denied) &&
    isHeld(wanted.patterns?.workspace ?? [], held?.patterns?.workspace) &&
    depthOf(wanted) <= depthOf(held) &&
    showsNoMore(wanted.readable, held?.readable)
  );
}

const depthOf = (rules: ProfileRules | undefined): number =>
  rules?.patterns ? (rules.patterns.depth ?? Number.POSITIVE_INFINITY) : 0;

function showsNoMore(wanted: ProfileRules['readable'], held: ProfileRules['readable']): boolean {
  if (!wanted) return true;
  if (!held || (held.isMinimal && !wanted.isMinimal)) return false;
  const isAmong = (paths: readonly string[], among: readonly string[]) => paths.every((path) => among.includes(path));
  return isAmong(held.paths, wanted.paths) && isAmong(held.workspace, wanted.workspace);
}

/** How seldom people are asked. */
function looseness(policy: ApprovalPolicy): number {
  if (policy === 'untrusted') return 0;
  return policy === 'never' ? 2 : 1;
}
