// What a client asks of a thread's settings, against the configuration and what this client may have.

import { isAbsolute, normalize, resolve } from 'node:path';
import type { OwnSettings } from '../agent/backend.ts';
import type { Principal } from '../auth/principal.ts';
import { fingerprint } from '../base/canonical.ts';
import { AppError } from '../base/errors.ts';
import { checkCeiling, checkRemoteOverrides } from '../config/ceiling.ts';
import { type ConfigSource, withOverrides } from '../config/load.ts';
import { isWithin, policyOfMode, profileOf, profileOfMode } from '../config/profiles.ts';
import { providerOf } from '../config/providers.ts';
import { barredFolder, checkRequired, checkRequiredRoots } from '../config/required.ts';
import type { Config } from '../config/schema.ts';
import { type ThreadWishes, threadDefaults } from '../config/thread-defaults.ts';
import { isBelow } from '../fs/containment.ts';
import { type HeldPolicy, type SandboxPolicy, sandboxPolicyOf, shownPolicy } from '../model/policy.ts';
import type { ThreadSettings } from '../model/thread.ts';
import type { Session } from '../rpc/session.ts';
import { locate } from '../sandbox/places.ts';
import { MAX_FOLDERS, type ThreadOverrides, type TurnOverrides } from './overrides.ts';

export interface SettingsParts {
  readonly config: ConfigSource;
  /** What relative folders are relative to, unless the client said. */
  readonly cwd: string;
  /** The backend's own default, where no model is configured. */
  readonly fallbackModel: (own: Asker['client']['settings']) => Promise<string>;
  readonly takesImages: (
    settings: Pick<ThreadSettings, 'model' | 'modelProvider'>,
    own: OwnSettings | undefined,
  ) => Promise<boolean>;
}

/** Who asks, and where relative folders begin for them. */
export type Asker = Pick<Session, 'principal' | 'client'>;

/** Where the thread is to work. */
export const folderOfStart = (
  { cwd }: Pick<ThreadOverrides, 'cwd'>,
  client: Asker['client'],
  parts: Pick<SettingsParts, 'cwd'>,
): string => folder(cwd, client.cwd ?? parts.cwd);

/** With the settings of the client's own command line over those of the server. */
export function partsFor({ settings }: Asker['client'], parts: SettingsParts): SettingsParts {
  return { ...parts, config: parts.config.viewOf(settings) };
}

/** The settings of a thread that is about to start. Rejects as *invalid*, or as *forbidden* when wider than the operator allows. */
export async function settingsOfStart(
  params: ThreadOverrides,
  { principal, client }: Asker,
  common: SettingsParts,
): Promise<ThreadSettings> {
  const parts = partsFor(client, common);
  const cwd = folderOfStart(params, client, parts);
  const loaded = await parts.config.load(cwd);
  const overrides = params.config ?? {};
  if (!principal.isLocal) checkRemoteOverrides(overrides);
  const { requirements } = parts.config;
  const config = Object.keys(overrides).length > 0 ? withOverrides(loaded, overrides, requirements) : loaded;
  checkShared(params);
  const wishes: ThreadWishes = {
    ...params,
    approvalsReviewer: reviewer(params.approvalsReviewer, loaded),
    workspaceRoots: params.runtimeWorkspaceRoots,
    ...remoteDefault(params, loaded, principal),
  };
  const asked = threadDefaults(config, cwd, wishes, await parts.fallbackModel(client.settings));
  const settings = params.sandbox || params.permissions ? asked : await withinRoots(asked, parts);
  await checkMayRun(settings, principal, parts);
  return withPlaces(settings);
}

/**
 * What the folders mean is settled when they are chosen: commands may turn them elsewhere later. Naming a folder again, as many
 * clients do with every turn, does not choose it anew.
 */
async function withPlaces(settings: ThreadSettings, before?: ThreadSettings): Promise<ThreadSettings> {
  const chosen = before?.rootPlaces ? foldersOf(before) : [];
  const known = async (path: string) =>
    chosen.includes(path) ? (before?.rootPlaces?.[path] ?? path) : await placeOf(path);
  const places = await Promise.all(foldersOf(settings).map(async (path) => [path, await known(path)] as const));
  return { ...settings, rootPlaces: Object.fromEntries(places.filter(([path, place]) => place !== path)) };
}

function foldersOf({ cwd, workspaceRoots, sandboxPolicy }: ThreadSettings): string[] {
  const writable = sandboxPolicy.type === 'workspaceWrite' ? sandboxPolicy.writableRoots : [];
  return [...new Set([cwd, ...workspaceRoots, ...writable])];
}

/** A folder that cannot be looked at does not keep a thread from starting: commands will be told. */
async function placeOf(path: string): Promise<string> {
  return locate(resolve(path)).then(
    (place) => place.path,
    () => path,
  );
}

/** What is configured for everybody comes down to the ceiling; what a client asks for does not. */
function remoteDefault(params: ThreadOverrides, config: Config, principal: Principal): ThreadWishes {
  if (principal.isLocal || params.sandbox || params.permissions) return {};
  const configured = config.sandbox_mode;
  return configured && !isWithin(configured, config.remote.sandbox) ? { sandbox: config.remote.sandbox } : {};
}

/** Nobody has asked to write where the administrator does not allow it. */
async function withinRoots(settings: ThreadSettings, { config }: SettingsParts): Promise<ThreadSettings> {
  const { sandboxPolicy, cwd, workspaceRoots } = settings;
  const barred = await barredFolder(sandboxPolicy, [cwd, ...workspaceRoots], config.requirements, isBelow);
  if (barred === undefined) return settings;
  return { ...settings, sandboxPolicy: sandboxPolicyOf('read-only'), permissionProfile: profileOfMode('read-only') };
}

/** The settings after the overrides of a turn or a resume; the same object when they change nothing. */
export async function settingsAfter(
  before: ThreadSettings,
  params: Partial<ThreadOverrides & TurnOverrides>,
  { principal, client }: Asker,
  common: SettingsParts,
): Promise<ThreadSettings> {
  const parts = partsFor(client, common);
  checkShared(params);
  if (!principal.isLocal) checkRemoteOverrides(params.config ?? {});
  if (params.modelProvider && params.modelProvider !== before.modelProvider)
    providerOf(await parts.config.load(), params.modelProvider);
  if (params.permissions && params.sandboxPolicy) throw clash('permissions', 'sandboxPolicy');
  if (params.permissions && params.sandbox) throw clash('permissions', 'sandbox');
  const after: ThreadSettings = {
    ...before,
    ...given({
      model: params.model,
      modelProvider: params.modelProvider,
      approvalPolicy: params.approvalPolicy,
      approvalsReviewer: await reviewerOf(params.approvalsReviewer, parts),
      effort: params.effort,
      summary: params.summary,
      serviceTier: params.serviceTier,
      personality: params.personality,
      baseInstructions: params.baseInstructions,
      developerInstructions: params.developerInstructions,
    }),
    ...(await sandboxAfter(before, params, client.cwd ?? parts.cwd, parts)),
    ...modeAfter(params),
  };
  if (JSON.stringify(after) === JSON.stringify(before)) return before;
  await checkMayRun(after, principal, parts);
  return withPlaces(after, before);
}

/** Rejects as *forbidden* when work of the thread goes beyond what the administrator or, to this client, the operator allows. */
export async function checkMayRun(settings: ThreadSettings, principal: Principal, parts: SettingsParts): Promise<void> {
  const { requirements } = parts.config;
  checkRequired(settings, requirements);
  const { sandboxPolicy, cwd, workspaceRoots } = settings;
  await checkRequiredRoots(sandboxPolicy, [cwd, ...workspaceRoots], requirements, isBelow);
  if (!principal.isLocal) await checkCeiling(await parts.config.load(), settings, isBelow);
}

/** Which overrides were asked for, for an answer that has to refuse them. */
export function namesOfOverrides(before: ThreadSettings, after: ThreadSettings): string[] {
  return Object.keys(after).filter((key) => {
    if (key === 'rootPlaces') return false;
    const name = key as keyof ThreadSettings;
    return JSON.stringify(before[name]) !== JSON.stringify(after[name]);
  });
}

function checkShared(params: Partial<ThreadOverrides>): void {
  if (params.model === '') throw new AppError('invalid', 'Invalid request: model: a name is needed, or none at all');
  const relative = params.runtimeWorkspaceRoots?.find((root) => !isAbsolute(root));
  if (relative !== undefined) {
    throw new AppError('invalid', 'Invalid request: runtimeWorkspaceRoots: an absolute path is needed');
  }
}

type Reviewer = ThreadWishes['approvalsReviewer'];

/** Who answers approvals when a client wants this one. Rejects as *invalid* where only `user` may be asked for. */
export async function reviewerOf(wanted: Reviewer, { config }: Pick<SettingsParts, 'config'>): Promise<Reviewer> {
  return !wanted || wanted === 'user' ? wanted : reviewer(wanted, await config.load());
}

function reviewer(wanted: Reviewer, { other_reviewers }: Config): Reviewer {
  if (!wanted || wanted === 'user') return wanted;
  if (other_reviewers === 'people') return 'user';
  throw new AppError('invalid', `approvalsReviewer "${wanted}" is not supported: approvals are answered by people`);
}

function folder(wanted: string | null | undefined, base: string): string {
  if (wanted?.includes('\0')) throw new AppError('invalid', 'Invalid request: cwd: a path has no NUL in it');
  return wanted ? normalize(isAbsolute(wanted) ? wanted : resolve(base, wanted)).replace(/(.)\/+$/, '$1') : base;
}

function foldersAfter(before: ThreadSettings, params: Partial<ThreadOverrides>, base: string): Partial<ThreadSettings> {
  const roots = params.runtimeWorkspaceRoots;
  if (!params.cwd) return roots ? { workspaceRoots: roots } : {};
  const cwd = folder(params.cwd, base);
  const follows = before.workspaceRoots.length === 1 && before.workspaceRoots[0] === before.cwd;
  return { cwd, workspaceRoots: roots ?? (follows ? [cwd] : before.workspaceRoots) };
}

async function sandboxAfter(
  before: ThreadSettings,
  params: Partial<ThreadOverrides & TurnOverrides>,
  base: string,
  parts: SettingsParts,
): Promise<Partial<ThreadSettings>> {
  const folders = foldersAfter(before, params, base);
  if (params.permissions) {
    const { cwd = before.cwd, workspaceRoots = before.workspaceRoots } = folders;
    const { sandboxPolicy, permissionProfile, roots } = profileOf(await parts.config.load(cwd), params.permissions);
    return {
      ...folders,
      workspaceRoots: [...new Set([...workspaceRoots, ...roots])],
      sandboxPolicy,
      permissionProfile,
    };
  }
  if (params.sandboxPolicy) {
    // Who says again what was shown does not mean to take away what cannot be shown.
    if (isShown(params.sandboxPolicy, before.sandboxPolicy)) return folders;
    return { ...folders, sandboxPolicy: absoluteRoots(params.sandboxPolicy), permissionProfile: null };
  }
  if (!params.sandbox) return folders;
  const sandboxPolicy = policyOfMode(await parts.config.load(), params.sandbox);
  return { ...folders, sandboxPolicy, permissionProfile: null };
}

/** Only where there is more to the policy than what clients are shown. */
function isShown(wanted: SandboxPolicy, held: HeldPolicy): boolean {
  const shown = shownPolicy(held);
  return shown !== held && fingerprint(wanted) === fingerprint(shown);
}

function absoluteRoots(policy: SandboxPolicy): SandboxPolicy {
  if (policy.type !== 'workspaceWrite') return policy;
  const { writableRoots } = policy;
  const refuse = (why: string) => {
    throw new AppError('invalid', `Invalid request: sandboxPolicy.writableRoots: ${why}`);
  };
  if (writableRoots.length > MAX_FOLDERS) refuse(`more than ${MAX_FOLDERS} folders`);
  if (writableRoots.some((root) => !isAbsolute(root))) refuse('an absolute path is needed');
  return policy;
}

/** A collaboration mode brings its model and effort, which go before those named beside it. */
function modeAfter({ collaborationMode }: Partial<TurnOverrides>): Partial<ThreadSettings> {
  if (!collaborationMode) return {};
  const { model, reasoning_effort: effort } = collaborationMode.settings;
  return { collaborationMode, model, ...(effort === undefined ? {} : { effort }) };
}

const clash = (one: string, other: string): AppError =>
  new AppError('invalid', `\`${one}\` cannot be combined with \`${other}\``);

type Given<T> = { [K in keyof T]?: NonNullable<T[K]> };

/** What is really wished for: neither absent nor null. */
export function given<T extends object>(wishes: T): Given<T> {
  return Object.fromEntries(
    Object.entries(wishes).filter(([, value]) => value !== undefined && value !== null),
  ) as Given<T>;
}
