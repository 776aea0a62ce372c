// What a new thread works with: what was asked for, else what is configured, else the cautious default.

import { dirname } from 'node:path';
import { AppError } from '../base/errors.ts';
import {
  type ApprovalPolicy,
  type ApprovalsReviewer,
  type HeldPolicy,
  type SandboxMode,
  sandboxPolicyOf,
} from '../model/policy.ts';
import type { ThreadSettings } from '../model/thread.ts';
import { modeOfProfile, policyOfMode, profileOf, profileOfMode } from './profiles.ts';
import { defaultProviderId, providerOf } from './providers.ts';
import type { Config } from './schema.ts';

/** What a client may ask for at the start of a thread; null and absent both mean "as configured". */
export interface ThreadWishes {
  readonly model?: string | null | undefined;
  readonly modelProvider?: string | null | undefined;
  /** Absolute paths; the working directory when not given. */
  readonly workspaceRoots?: readonly string[] | null | undefined;
  readonly approvalPolicy?: ApprovalPolicy | null | undefined;
  readonly approvalsReviewer?: ApprovalsReviewer | null | undefined;
  readonly sandbox?: SandboxMode | null | undefined;
  /** The name of a permission profile; not together with `sandbox`. */
  readonly permissions?: string | null | undefined;
  readonly serviceTier?: string | null | undefined;
  readonly personality?: ThreadSettings['personality'] | undefined;
  readonly baseInstructions?: string | null | undefined;
  readonly developerInstructions?: string | null | undefined;
}

/** Stands where a model is named while none is configured; the unavailable backend says what to do about it. */
export const NO_MODEL = 'unconfigured';

/**
 * The settings of a thread that is about to start in `cwd`, an absolute path. `fallbackModel` is the backend's own default.
 * Throws as *invalid* when the provider or profile does not exist, the profile cannot be enforced, or both `permissions` and
 * `sandbox` are given.
 * Per-thread `config` overrides belong into `config` before: see `withOverrides`.
 */
export function threadDefaults(
  config: Config,
  cwd: string,
  wishes: ThreadWishes = {},
  fallbackModel: string = NO_MODEL,
): ThreadSettings {
  const { roots, ...sandbox } = sandboxOf(config, cwd, wishes);
  return {
    model: wishes.model ?? config.model ?? fallbackModel,
    modelProvider: providerOf(config, wishes.modelProvider ?? defaultProviderId(config)).id,
    cwd,
    workspaceRoots: [...new Set([...(wishes.workspaceRoots ?? [cwd]), ...roots])],
    hasEnvironment: true,
    approvalPolicy: wishes.approvalPolicy ?? config.approval_policy ?? 'on-request',
    approvalsReviewer: wishes.approvalsReviewer ?? config.approvals_reviewer ?? 'user',
    ...sandbox,
    effort: config.model_reasoning_effort,
    summary: config.model_reasoning_summary,
    serviceTier: wishes.serviceTier ?? config.service_tier,
    personality: wishes.personality ?? null,
    baseInstructions: wishes.baseInstructions ?? config.instructions,
    developerInstructions: wishes.developerInstructions ?? config.developer_instructions,
    collaborationMode: null,
    instructionSources: [],
    dynamicTools: [],
  };
}

/** A profile is named only while it says all: not beside a mode asked for, nor when roots or network were added. */
function sandboxOf(
  config: Config,
  cwd: string,
  wishes: ThreadWishes,
): Pick<ThreadSettings, 'sandboxPolicy' | 'permissionProfile'> & { readonly roots: readonly string[] } {
  if (wishes.permissions && wishes.sandbox) {
    throw new AppError('invalid', '`permissions` cannot be combined with `sandbox`');
  }
  const named = wishes.permissions ?? (wishes.sandbox ? undefined : namedProfile(config));
  if (named) {
    const { sandboxPolicy, permissionProfile, roots } = profileOf(config, named);
    return { sandboxPolicy, permissionProfile, roots };
  }
  const roots: readonly string[] = [];
  if (wishes.sandbox) return { sandboxPolicy: policyOfMode(config, wishes.sandbox), permissionProfile: null, roots };
  const mode = configuredMode(config, cwd);
  const sandboxPolicy = policyOfMode(config, mode);
  const isPlain =
    sandboxPolicy.type !== 'workspaceWrite' || JSON.stringify(sandboxPolicy) === JSON.stringify(sandboxPolicyOf(mode));
  return { sandboxPolicy, permissionProfile: isPlain ? profileOfMode(mode) : null, roots };
}

/** What commands in `cwd` may touch where nothing else was asked for. */
export function configuredPolicy(config: Config, cwd: string): HeldPolicy {
  const named = namedProfile(config);
  return named ? profileOf(config, named).sandboxPolicy : policyOfMode(config, configuredMode(config, cwd));
}

/** Of those that the configuration itself describes; undefined: one that is always there, or a mode. */
export function namedProfile({ sandbox_mode: mode, default_permissions: named }: Config): string | undefined {
  return mode || !named || modeOfProfile(named) ? undefined : named;
}

function configuredMode(config: Config, cwd: string): SandboxMode {
  const named = config.default_permissions ? modeOfProfile(config.default_permissions) : undefined;
  if (config.sandbox_mode ?? named) return (config.sandbox_mode ?? named) as SandboxMode;
  return trustOf(config, cwd) === 'trusted' ? 'workspace-write' : 'read-only';
}

/** The configured trust of a folder: its own, else that of the nearest folder above. */
export function trustOf(config: Config, cwd: string): 'trusted' | 'untrusted' | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const level = Object.hasOwn(config.projects, folder) ? config.projects[folder]?.trust_level : undefined;
    if (level !== undefined || folder === dirname(folder)) return level;
  }
}
