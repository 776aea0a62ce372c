// Keeps what the administrator requires: in the settings that are configured, and against what is asked for.

import { relative } from 'node:path';
import { AppError } from '../base/errors.ts';
import { type HeldPolicy, hasNetwork, type SandboxMode } from '../model/policy.ts';
import type { ThreadSettings } from '../model/thread.ts';
import type { IsBelow } from './ceiling.ts';
import { modeOfPolicy, modeOfProfile } from './profiles.ts';
import type { Requirements } from './requirements.ts';
import { isTable, merged, type Table } from './tables.ts';

const nameOf = (policy: unknown): unknown => (isTable(policy) ? 'granular' : policy);

/** The settings with what is required above them; what is not allowed becomes the nearest that is. */
export function required(settings: Table, requirements: Requirements | undefined): Table {
  if (!requirements) return settings;
  const { approvalPolicies, sandboxModes } = requirements;
  const result: Record<string, unknown> = { ...merged(settings, requirements.settings) };
  const policy = result.approval_policy ?? 'on-request';
  if (approvalPolicies && !approvalPolicies.some((each) => each === nameOf(policy))) {
    // The table of a granular policy cannot be made up: who allows only that is asked as seldom as `untrusted` asks.
    result.approval_policy = approvalPolicies.find((each) => each !== 'granular') ?? 'untrusted';
  }
  const mode = configuredMode(result);
  if (sandboxModes && !sandboxModes.some((each) => each === mode)) {
    result.sandbox_mode = nearestBelow(mode, sandboxModes);
    delete result.default_permissions;
  }
  const { sandbox_workspace_write: workspace } = result;
  if (requirements.writableRoots && isTable(workspace) && Array.isArray(workspace.writable_roots)) {
    const roots = workspace.writable_roots.filter((root) => isNamedBelow(root, requirements.writableRoots ?? []));
    result.sandbox_workspace_write = { ...workspace, writable_roots: roots };
  }
  return result;
}

/** By its name alone: where it leads is looked at when something is to be done there. */
const isNamedBelow = (path: unknown, roots: readonly string[]): boolean =>
  typeof path === 'string' && roots.some((root) => !relative(root, path).startsWith('..'));

/** Where nothing is configured, a trusted folder has `workspace-write`. */
function configuredMode({
  sandbox_mode: mode,
  default_permissions: profile,
}: Readonly<Record<string, unknown>>): unknown {
  if (mode) return mode;
  return (typeof profile === 'string' ? modeOfProfile(profile) : undefined) ?? 'workspace-write';
}

function nearestBelow(mode: unknown, allowed: readonly SandboxMode[]): SandboxMode {
  return mode === 'danger-full-access' && allowed.includes('workspace-write') ? 'workspace-write' : 'read-only';
}

/** Why a sandbox mode is not allowed, if it is not. */
export function barredMode(mode: SandboxMode, requirements: Requirements | undefined): string | undefined {
  const allowed = requirements?.sandboxModes;
  if (!requirements || !allowed || allowed.includes(mode)) return undefined;
  return `the administrator allows ${allowed.join(', ')} (${requirements.file})`;
}

/** Throws as *forbidden* for commands that may touch more than the administrator allows. */
export function checkRequiredSandbox(policy: HeldPolicy, requirements: Requirements | undefined): void {
  const barred = barredMode(modeOfPolicy(policy), requirements);
  if (barred) throw new AppError('forbidden', `sandbox ${modeOfPolicy(policy)} is not allowed: ${barred}`);
  const table = requirements?.settings.sandbox_workspace_write;
  const isConfined = policy.type === 'workspaceWrite' || policy.type === 'readOnly';
  if (isConfined && hasNetwork(policy) && isTable(table) && table.network_access === false)
    throw forbidden('network access', requirements);
}

/** The first of the folders that could be written to under the policy and must not be. */
export async function barredFolder(
  policy: HeldPolicy,
  folders: readonly string[],
  requirements: Requirements | undefined,
  isBelow: IsBelow,
): Promise<string | undefined> {
  const roots = requirements?.writableRoots;
  if (!roots || policy.type !== 'workspaceWrite') return undefined;
  for (const folder of [...folders, ...policy.writableRoots]) if (!(await isBelow(folder, roots))) return folder;
  return undefined;
}

/** Rejects as *forbidden* when more could be written to than the administrator allows. */
export async function checkRequiredRoots(...asked: Parameters<typeof barredFolder>): Promise<void> {
  const folder = await barredFolder(...asked);
  if (folder !== undefined) throw forbidden(`writing to ${folder}`, asked[2]);
}

/** Throws as *forbidden* for threads that would work otherwise than the administrator requires. */
export function checkRequired(
  settings: Pick<ThreadSettings, 'sandboxPolicy' | 'approvalPolicy' | 'modelProvider' | 'model'>,
  requirements: Requirements | undefined,
): void {
  if (!requirements) return;
  checkRequiredSandbox(settings.sandboxPolicy, requirements);
  const { approvalPolicies, settings: fixed } = requirements;
  const policy = nameOf(settings.approvalPolicy);
  const isListed = approvalPolicies === undefined || approvalPolicies.some((each) => each === policy);
  const isOnlyGranular = approvalPolicies?.every((each) => each === 'granular') && policy === 'untrusted';
  if (!isListed && !isOnlyGranular) throw forbidden(`approval policy ${String(policy)}`, requirements);
  if (fixed.model_provider && settings.modelProvider !== fixed.model_provider) {
    throw forbidden(`model provider ${settings.modelProvider}`, requirements);
  }
  if (fixed.model && settings.model !== fixed.model) throw forbidden(`model ${settings.model}`, requirements);
}

function forbidden(what: string, requirements: Requirements | undefined): AppError {
  return new AppError('forbidden', `${what} is not allowed by the administrator (${requirements?.file})`);
}
