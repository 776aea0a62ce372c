// A new thread that begins with the history of another, as declared methods.

import { z } from 'zod';
import { freeJson, JsonObject, optional } from '../model/schema.ts';
import { request, threadQueue } from '../rpc/declare.ts';
import { MAX_KEPT_JSON, MAX_NAME, MAX_TITLE, threadOverrides } from './overrides.ts';
import { adopted } from './schema.ts';

export const threadFork = request('thread/fork', {
  params: () =>
    z.object({
      threadId: z.string(),
      ...threadOverrides(),
      path: optional(z.string()),
      lastTurnId: optional(z.string()),
      beforeTurnId: optional(z.string()),
      ephemeral: optional(z.boolean()),
      threadSource: optional(z.string().max(MAX_NAME)),
      excludeTurns: optional(z.boolean()),
      /** Ours: an id of the client's choice, and what it calls the new thread. */
      newThreadId: optional(z.string()),
      title: optional(z.string().max(MAX_TITLE)),
      metadata: optional(freeJson(JsonObject(), MAX_KEPT_JSON)),
    }),
  result: () => z.object({ ...adopted(), headSeq: z.int(), turnsTruncated: z.boolean().optional() }),
  queue: (params) => threadQueue(params.threadId),
  needs: 'thread:write',
  mutates: 'store',
  hasLargeAnswer: true,
  experimentalFields: [
    'attachToSource',
    'beforeTurnId',
    'deferGoalContinuation',
    'experimentalDisablePredictionMcp',
    'experimentalPredictionMode',
    'path',
    'permissions',
    'runtimeWorkspaceRoots',
  ],
});

export const forkMethods = { threadFork };
