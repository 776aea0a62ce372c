// Answers of a server written by hand, whole enough to fit the declared shapes.

import type { RequestResult } from '../../src/client/typed.ts';

type TurnView = RequestResult<'turn/start'>['turn'];

export function turnView(id: string, status: TurnView['status']): TurnView {
  return {
    id,
    rootTurnId: null,
    items: [],
    itemsView: 'notLoaded',
    status,
    error: null,
    startedAt: 1,
    completedAt: null,
    durationMs: null,
  };
}

export function adoptedReply(threadId: string, turns: readonly TurnView[] = []): RequestResult<'thread/start'> {
  return {
    thread: {
      id: threadId,
      environments: null,
      extra: null,
      sessionId: threadId,
      forkedFromId: null,
      attachedToThreadId: null,
      parentThreadId: null,
      preview: '',
      ephemeral: false,
      section: null,
      sectionEnteredAt: null,
      projectId: null,
      historyMode: 'paginated',
      modelProvider: 'mock',
      model: null,
      reasoningEffort: null,
      createdAt: 1,
      updatedAt: 1,
      recencyAt: null,
      status: { type: 'idle' },
      path: null,
      cwd: '/',
      cliVersion: '1',
      originator: null,
      source: 'appServer',
      canAcceptDirectInput: true,
      threadSource: null,
      agentNickname: null,
      agentRole: null,
      gitInfo: null,
      name: null,
      daybreakEnabled: null,
      turns: [...turns],
    },
    model: 'mock',
    modelProvider: 'mock',
    serviceTier: null,
    disabledPluginIds: [],
    cwd: '/',
    runtimeWorkspaceRoots: [],
    instructionSources: [],
    approvalPolicy: 'never',
    approvalsReviewer: 'user',
    sandbox: { type: 'dangerFullAccess' },
    activePermissionProfile: null,
    reasoningEffort: null,
    headSeq: 0,
    multiAgentMode: 'explicitRequestOnly',
  };
}
