// A thread, a turn and their settings as clients of the native dialect see them.

import { isPlanning, modeInstructions } from '../agent/collaboration.ts';
import type { TurnRow } from '../history/store.ts';
import type { CollaborationMode } from '../model/collaboration.ts';
import type { Item } from '../model/item.ts';
import { shownPolicy } from '../model/policy.ts';
import type { Thread, ThreadMeta, ThreadSection, ThreadSettings, ThreadStatus } from '../model/thread.ts';
import type { ItemsView, Turn } from '../model/turn.ts';
import type { WireSettings } from './schema.ts';

export const seconds = (ms: number): number => Math.floor(ms / 1000);

/** The origin that the reference shows for every client of its app server. */
const SOURCE = 'vscode';

function environmentsOf(settings: ThreadSettings) {
  if (!settings.hasEnvironment) return [];
  return [{ environmentId: 'local', cwd: settings.cwd, runtimeWorkspaceRoots: settings.workspaceRoots }];
}

/** `section`: the one it is in; a thread whose section is gone is in none. */
export function threadView(
  meta: ThreadMeta,
  status: ThreadStatus,
  section: ThreadSection | null,
  turns: Turn[] = [],
): Thread {
  const { settings } = meta;
  const isLoaded = status.type !== 'notLoaded';
  return {
    id: meta.id,
    environments: isLoaded ? environmentsOf(settings) : null,
    extra: null,
    sessionId: meta.sessionId,
    forkedFromId: meta.forkedFromId,
    attachedToThreadId: null,
    parentThreadId: null,
    preview: meta.preview,
    ephemeral: meta.ephemeral,
    section,
    sectionEnteredAt: section && meta.section ? seconds(meta.section.enteredAtMs) : null,
    projectId: null,
    historyMode: meta.historyMode,
    modelProvider: settings.modelProvider,
    model: settings.model,
    reasoningEffort: settings.effort,
    createdAt: seconds(meta.createdAtMs),
    updatedAt: seconds(meta.updatedAtMs),
    recencyAt: seconds(meta.recencyAtMs),
    status,
    path: null,
    cwd: settings.cwd,
    cliVersion: meta.createdByVersion,
    originator: meta.originator === '' ? null : meta.originator,
    source: SOURCE,
    canAcceptDirectInput: isLoaded ? true : null,
    threadSource: meta.threadSource,
    agentNickname: null,
    agentRole: null,
    gitInfo: meta.gitInfo,
    name: meta.name ?? meta.title,
    daybreakEnabled: null,
    turns,
    ...(meta.title === null ? {} : { title: meta.title }),
    ...(meta.metadata === null ? {} : { metadata: meta.metadata }),
    ...(meta.serviceName === null ? {} : { serviceName: meta.serviceName }),
    ...(meta.archived ? { archived: true } : {}),
  };
}

export function turnView(row: TurnRow, items: Item[], itemsView: ItemsView): Turn {
  return {
    id: row.id,
    rootTurnId: row.rootTurnId,
    items,
    itemsView,
    status: row.status,
    error: row.error,
    startedAt: seconds(row.startedAtMs),
    completedAt: row.completedAtMs === null ? null : seconds(row.completedAtMs),
    durationMs: row.durationMs,
  };
}

/** A turn that was accepted and has not begun. */
export function newTurnView(id: string, rootTurnId: string): Turn {
  return {
    id,
    rootTurnId,
    items: [],
    itemsView: 'notLoaded',
    status: 'inProgress',
    error: null,
    startedAt: null,
    completedAt: null,
    durationMs: null,
  };
}

export function collaborationModeOf(settings: ThreadSettings): CollaborationMode {
  const { model, effort: reasoning_effort } = settings;
  return {
    mode: isPlanning(settings) ? 'plan' : 'default',
    settings: { model, reasoning_effort, developer_instructions: modeInstructions(settings) },
  };
}

export function settingsView(settings: ThreadSettings): WireSettings {
  return {
    disabledPluginIds: [],
    cwd: settings.cwd,
    environments: environmentsOf(settings),
    approvalPolicy: settings.approvalPolicy,
    approvalsReviewer: settings.approvalsReviewer,
    sandboxPolicy: shownPolicy(settings.sandboxPolicy),
    activePermissionProfile: settings.permissionProfile,
    model: settings.model,
    modelProvider: settings.modelProvider,
    serviceTier: settings.serviceTier,
    effort: settings.effort,
    summary: settings.summary,
    collaborationMode: collaborationModeOf(settings),
    multiAgentMode: 'explicitRequestOnly',
    personality: settings.personality,
  };
}

/** What `thread/start` and `thread/resume` answer beside what is their own. */
export function adoptedView(meta: ThreadMeta, status: ThreadStatus, section: ThreadSection | null, turns: Turn[] = []) {
  const { settings } = meta;
  return {
    thread: threadView(meta, status, section, turns),
    model: settings.model,
    modelProvider: settings.modelProvider,
    serviceTier: settings.serviceTier,
    disabledPluginIds: [],
    cwd: settings.cwd,
    runtimeWorkspaceRoots: settings.workspaceRoots,
    instructionSources: settings.instructionSources,
    approvalPolicy: settings.approvalPolicy,
    approvalsReviewer: settings.approvalsReviewer,
    sandbox: shownPolicy(settings.sandboxPolicy),
    activePermissionProfile: settings.permissionProfile,
    reasoningEffort: settings.effort,
    multiAgentMode: 'explicitRequestOnly' as const,
  };
}
