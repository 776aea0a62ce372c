// Events and rows for tests of the history, with everything filled in that the test does not care about.

import type { EventToStore } from '../../src/history/store.ts';
import type { ThreadEvent } from '../../src/model/event.ts';
import { agentMessage, type Item, userMessage } from '../../src/model/item.ts';
import type { ThreadMeta } from '../../src/model/thread.ts';
import { NO_USAGE } from '../../src/model/turn.ts';

export function threadMeta(id: string, members: Partial<ThreadMeta> = {}): ThreadMeta {
  return {
    id,
    createdAtMs: 1000,
    updatedAtMs: 1000,
    recencyAtMs: 1000,
    archived: false,
    name: null,
    preview: '',
    title: null,
    metadata: null,
    serviceName: null,
    sessionId: id,
    forkedFromId: null,
    ephemeral: false,
    historyMode: 'paginated',
    originator: 'test',
    threadSource: null,
    createdByVersion: '0',
    gitInfo: null,
    settings: settings(),
    turnCount: 0,
    usage: NO_USAGE,
    readState: { firstUnread: null, revision: 'r0' },
    goal: null,
    queue: [],
    section: null,
    terminals: [],
    asides: [],
    failed: false,
    ...members,
  };
}

export function settings(members: Partial<ThreadMeta['settings']> = {}): ThreadMeta['settings'] {
  return {
    model: 'm',
    modelProvider: 'p',
    cwd: '/w',
    workspaceRoots: [],
    hasEnvironment: true,
    approvalPolicy: 'on-request',
    approvalsReviewer: 'user',
    sandboxPolicy: { type: 'readOnly', networkAccess: false },
    permissionProfile: null,
    effort: null,
    summary: null,
    serviceTier: null,
    personality: null,
    baseInstructions: null,
    developerInstructions: null,
    collaborationMode: null,
    instructionSources: [],
    dynamicTools: [],
    ...members,
  };
}

export const at = (atMs: number, ...events: ThreadEvent[]): EventToStore[] => events.map((event) => ({ atMs, event }));

/** A question that belongs to no turn. */
export const asideAsked = (id: string): ThreadEvent => ({
  type: 'approvalRequested',
  turnId: '',
  requestId: 7,
  proposal: {
    ...{ id, kind: 'elicitation', turnId: '', itemId: '', callId: '', cwd: '/', reason: null, server: 's' },
    question: { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties: {} } },
    ...{ operationDigest: 'o', policyDigest: 'p', workspaceDigest: 'w', nonce: `nonce-${id}` },
    ...{ startedAtMs: 1, expiresAtMs: 2 },
  },
});

export const asideEnded = (approvalId: string): ThreadEvent => ({
  type: 'approvalResolved',
  turnId: '',
  approvalId,
  requestId: 7,
  resolution: { by: 'interrupt', isGone: true },
});

export const turnStarted = (turnId: string, preview = `preview of ${turnId}`, startedAtMs = 1): ThreadEvent => ({
  type: 'turnStarted',
  turnId,
  rootTurnId: turnId,
  startedAtMs,
  preview,
});

export const turnCompleted = (
  turnId: string,
  members: Partial<Extract<ThreadEvent, { type: 'turnCompleted' }>> = {},
): ThreadEvent => ({
  type: 'turnCompleted',
  turnId,
  rootTurnId: turnId,
  status: 'completed',
  error: null,
  startedAtMs: 1,
  completedAtMs: 2,
  durationMs: 1,
  lastMessageId: null,
  revision: `r-${turnId}`,
  ...members,
});

export const question = (id: string, text = 'hello'): Item =>
  userMessage(id, [{ type: 'text', text, text_elements: [] }], null, 1);

export const answer = (id: string, text = ''): Item => ({ ...agentMessage(id, null, 1), text });

export const itemStarted = (turnId: string, item: Item): ThreadEvent => ({ type: 'itemStarted', turnId, item });
export const itemCompleted = (turnId: string, item: Item): ThreadEvent => ({ type: 'itemCompleted', turnId, item });

export const delta = (turnId: string, itemId: string, ...parts: string[]): ThreadEvent => ({
  type: 'delta',
  turnId,
  itemId,
  stream: 'text',
  parts,
});

export const contextAdded = (turnId: string, text: string): ThreadEvent => ({
  type: 'contextAdded',
  turnId,
  items: [{ type: 'note', text }],
});

/** A whole turn: question, answer, context. */
export const wholeTurn = (turnId: string): ThreadEvent[] => [
  turnStarted(turnId),
  itemStarted(turnId, question(`${turnId}-q`)),
  itemCompleted(turnId, question(`${turnId}-q`)),
  contextAdded(turnId, `context of ${turnId}`),
  itemStarted(turnId, answer(`${turnId}-a`)),
  itemCompleted(turnId, answer(`${turnId}-a`, `answer of ${turnId}`)),
  turnCompleted(turnId, { lastMessageId: `${turnId}-a` }),
];
