// The life of a thread, as declared methods.

import { z } from 'zod';
import { PendingApproval } from '../model/approval.ts';
import { ClientTool } from '../model/client-tool.ts';
import { CollaborationMode } from '../model/collaboration.ts';
import { freeJson, JsonObject, optional } from '../model/schema.ts';
import { ReadState, Thread } from '../model/thread.ts';
import { ItemsView } from '../model/turn.ts';
import { request, threadQueue, unqueued } from '../rpc/declare.ts';
import { environments, MAX_KEPT_JSON, MAX_NAME, MAX_TITLE, threadOverrides } from './overrides.ts';
import { adopted, TurnsPage } from './schema.ts';

/** Tools that a client may declare, and characters of JSON of all of them: the model reads them with every request. */
const MAX_CLIENT_TOOLS = 128;
const MAX_TOOLS_JSON = 256 * 1024;

const threadId = () => ({ threadId: z.string() });
const ofThread = (params: { threadId: string }) => threadQueue(params.threadId);
export const SortDirection = () => z.enum(['asc', 'desc']);

export const threadStart = request('thread/start', {
  params: () =>
    z.object({
      ...threadOverrides(),
      serviceName: optional(z.string().max(MAX_NAME)),
      ephemeral: optional(z.boolean()),
      historyMode: optional(z.enum(['paginated', 'legacy'])),
      threadSource: optional(z.string().max(MAX_NAME)),
      environments: environments(),
      dynamicTools: optional(freeJson(z.array(ClientTool()).max(MAX_CLIENT_TOOLS), MAX_TOOLS_JSON)),
      threadId: optional(z.string()),
      title: optional(z.string().max(MAX_TITLE)),
      metadata: optional(freeJson(JsonObject(), MAX_KEPT_JSON)),
    }),
  /** Ours: `headSeq`, up to which the answer is true; so in every answer that shows one thread. */
  result: () => z.object({ ...adopted(), headSeq: z.int() }),
  queue: (params) => (params.threadId ? threadQueue(params.threadId) : 'none'),
  needs: 'thread:write',
  mutates: 'store',
  experimentalFields: [
    'allowProviderModelFallback',
    'daybreakEnabled',
    'dynamicTools',
    'environments',
    'experimentalRawEvents',
    'historyMode',
    'mockExperimentalField',
    'multiAgentMode',
    'permissions',
    'projectId',
    'runtimeWorkspaceRoots',
    'selectedCapabilityRoots',
  ],
});

/** Ours: the questions that stand, the oldest first; left out for those who may not answer. */
const pendingApprovals = () => ({ pendingApprovals: z.array(PendingApproval()).optional() });

export const threadResume = request('thread/resume', {
  params: () =>
    z.object({
      ...threadId(),
      ...threadOverrides(),
      history: optional(z.array(z.unknown())),
      path: optional(z.string()),
      excludeTurns: optional(z.boolean()),
      initialTurnsPage: optional(
        z.object({
          limit: optional(z.int().min(0)),
          sortDirection: optional(SortDirection()),
          itemsView: optional(ItemsView()),
        }),
      ),
      /** Ours: what came behind this event follows as ordinary notifications. */
      afterEventSeq: optional(z.int().min(0)),
    }),
  result: () =>
    z.object({
      ...adopted(),
      collaborationMode: CollaborationMode().nullable(),
      initialTurnsPage: TurnsPage().nullable(),
      turnsBackwardsCursor: z.string().nullable(),
      itemsBackwardsCursor: z.string().nullable(),
      headSeq: z.int(),
      turnsTruncated: z.boolean().optional(),
      ...pendingApprovals(),
    }),
  queue: ofThread,
  needs: 'thread:read',
  mutates: false,
  hasLargeAnswer: true,
  experimentalFields: ['history', 'initialTurnsPage', 'path', 'permissions', 'runtimeWorkspaceRoots'],
});

export const threadRead = request('thread/read', {
  params: () =>
    z.object({
      ...threadId(),
      includeTurns: optional(z.boolean()),
      /** Ours: the notifications behind this event, as a page. */
      afterEventSeq: optional(z.int().min(0)),
      limit: optional(z.int().min(0)),
    }),
  result: () =>
    z.object({
      thread: Thread(),
      readState: ReadState().nullable(),
      headSeq: z.int(),
      events: z
        .array(z.object({ seq: z.int(), method: z.string(), params: z.unknown(), emittedAtMs: z.int() }))
        .optional(),
      nextSeq: z.int().optional(),
      turnsTruncated: z.boolean().optional(),
      ...pendingApprovals(),
    }),
  queue: (params) => ({ ...threadQueue(params.threadId), shared: true }),
  needs: 'thread:read',
  mutates: false,
  hasLargeAnswer: true,
});

export const threadUnsubscribe = request('thread/unsubscribe', {
  params: () => z.object(threadId()),
  result: () => z.object({ status: z.enum(['unsubscribed', 'notSubscribed', 'notLoaded']) }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
  isStop: true,
});

export const threadMethods = { threadStart, threadResume, threadRead, threadUnsubscribe };
