// Answers what is configured, without secrets, and to remote readers only what concerns their threads; writes what may be written.

import { resolve } from 'node:path';
import type { Principal } from '../auth/principal.ts';
import type { ParamsInput, ResultInput } from '../rpc/declare.ts';
import { type Context, implement, type Route } from '../rpc/router.ts';
import type { Session } from '../rpc/session.ts';
import { type ConfigProblem, configError, problemText } from './faults.ts';
import { originsOf } from './layers.ts';
import type { ConfigSource, ConfigState } from './load.ts';
import { masked } from './masking.ts';
import { configMethods, type configRead, type configWarning } from './methods.ts';
import { BUILT_IN_PROFILES } from './profiles.ts';
import { defaultProviderId } from './providers.ts';
import { barredMode } from './required.ts';
import type { Requirements } from './requirements.ts';
import type { Config } from './schema.ts';
import { trustOf } from './thread-defaults.ts';
import { type WriteRequest, writeSettings } from './writes.ts';

export interface ConfigHandlerOptions {
  readonly source: ConfigSource;
  /** The working directory of the server, against which a relative `cwd` is read unless the client said where it stands. */
  readonly cwd: string;
  /** Threads of a tenant that are loaded. */
  readonly loadedThreads: (tenant: string) => readonly string[];
  /** Whether somebody learns of the settings of a project there. */
  readonly mayLookInto: (principal: Principal, folder: string) => Promise<boolean>;
  /** Tells a client what does not count of the settings of a folder. */
  readonly tellOfFolder: (session: Session, folder: string) => void;
}

export function configHandlers({
  source,
  cwd,
  loadedThreads,
  mayLookInto,
  tellOfFolder,
}: ConfigHandlerOptions): Route[] {
  const write = async (request: Omit<WriteRequest, 'principal'>, { session }: Context) => ({
    ...(await writeSettings(source.viewOf(session.client.settings), { ...request, principal: session.principal })),
    frozenThreads: [...loadedThreads(session.principal.tenant)],
  });
  return implement(configMethods, {
    configValueWrite: (params, context) => write({ ...params, edits: [params] }, context),
    configBatchWrite: (params, context) => write(params, context),
    configRead: async (params, { session }) => {
      const folder = params.cwd ? resolve(session.client.cwd ?? cwd, params.cwd) : undefined;
      if (folder !== undefined) tellOfFolder(session, folder);
      const isOpen = folder !== undefined && (await mayLookInto(session.principal, folder));
      const state = await source.viewOf(session.client.settings).state(isOpen ? folder : undefined);
      if (state.problem) throw configError(problemText(state.problem));
      return readResult(state, { principal: session.principal, folder, includeLayers: params.includeLayers === true });
    },
    configRequirementsRead: async (_params, { session }) => ({
      supportsIndependentSpeedModes: null,
      requirements: source.requirements ? shownRequirements(source.requirements, session.principal) : null,
    }),
  });
}

interface ReadRequest {
  readonly principal: Principal;
  readonly folder: string | undefined;
  readonly includeLayers: boolean;
}

function readResult(
  state: ConfigState,
  { principal, folder, includeLayers }: ReadRequest,
): ResultInput<typeof configRead> {
  const concerns = threadConcerns(state.config, folder);
  if (!principal.permissions.has('config')) return { config: concerns, origins: {}, layers: includeLayers ? [] : null };
  const layers = [...state.layers].reverse();
  return {
    config: { ...masked(state.config), ...concerns, projects: { ...state.config.projects, ...concerns.projects } },
    origins: originsOf(state.layers),
    layers: includeLayers
      ? layers.map(({ name, version, settings, disabledReason }) => ({
          name,
          version,
          config: { ...masked(settings) },
          disabledReason: disabledReason ?? null,
        }))
      : null,
  };
}

/** What a reader of threads needs to know: the defaults of a new one. */
function threadConcerns(config: Config, folder: string | undefined): ResultInput<typeof configRead>['config'] {
  return {
    model: config.model,
    review_model: null,
    model_context_window: config.model_context_window,
    model_auto_compact_token_limit: config.model_auto_compact_token_limit,
    model_auto_compact_token_limit_scope: null,
    model_provider: defaultProviderId(config),
    approval_policy: config.approval_policy,
    approvals_reviewer: config.approvals_reviewer,
    sandbox_mode: config.sandbox_mode,
    sandbox_workspace_write: config.sandbox_workspace_write,
    instructions: config.instructions,
    developer_instructions: config.developer_instructions,
    model_reasoning_effort: config.model_reasoning_effort,
    model_reasoning_summary: config.model_reasoning_summary,
    service_tier: config.service_tier,
    projects: trustShown(config, folder),
  };
}

/**
 * A folder that nobody has decided about is shown as trusted, so that clients do not ask a person for a decision that changes
 * nothing here: what threads may do in it follows from policy and sandbox alone, and only a *configured* trust widens those.
 */
function trustShown(config: Config, folder: string | undefined): Config['projects'] {
  if (folder === undefined) return {};
  return { [folder]: { ...config.projects[folder], trust_level: trustOf(config, folder) ?? 'trusted' } };
}

const GRANULAR = {
  granular: {
    sandbox_approval: true,
    rules: true,
    skill_approval: true,
    request_permissions: true,
    mcp_elicitations: true,
  },
};

/** The settings go to those who may read the others. */
function shownRequirements(requirements: Requirements, { permissions }: Principal) {
  const { approvalPolicies, sandboxModes, settings } = requirements;
  const profiles = BUILT_IN_PROFILES.map(([id, mode]) => [id, barredMode(mode, requirements) === undefined] as const);
  return {
    allowedApprovalPolicies: approvalPolicies?.map((each) => (each === 'granular' ? GRANULAR : each)) ?? null,
    allowedSandboxModes: sandboxModes ? [...sandboxModes] : null,
    allowedPermissionProfiles: sandboxModes ? Object.fromEntries(profiles) : null,
    modelProvider: typeof settings.model_provider === 'string' ? settings.model_provider : null,
    ...(permissions.has('config')
      ? {
          settings: masked(settings),
          file: requirements.file,
          allowedWritableRoots: requirements.writableRoots ?? null,
        }
      : {}),
  };
}

/** What sessions are told about a configuration that cannot be used. */
export function configWarningOf(problem: ConfigProblem): ParamsInput<typeof configWarning> {
  const { place } = problem;
  const position = place && { line: place.line, column: place.column };
  return {
    summary: 'Invalid configuration; using defaults.',
    details: problemText(problem),
    ...(place && position ? { path: place.file, range: { start: position, end: position } } : {}),
  };
}

/** What sessions are told about a configuration that can be used. */
export function noteWarningOf(summary: string, notes: readonly string[]): ParamsInput<typeof configWarning> {
  return { summary, details: notes.length > 0 ? notes.join('\n') : null };
}
