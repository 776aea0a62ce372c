// Starting, steering and stopping turns, as declared methods.

import { z } from 'zod';
import { UserInput } from '../model/input.ts';
import { freeJson, optional } from '../model/schema.ts';
import { Turn } from '../model/turn.ts';
import { request, threadQueue, unqueued } from '../rpc/declare.ts';
import { additionalContext, environments, MAX_NAME, turnOverrides } from './overrides.ts';

export const turnStart = request('turn/start', {
  params: () =>
    z.object({
      threadId: z.string(),
      input: z.array(UserInput()),
      clientUserMessageId: optional(z.string().max(MAX_NAME)),
      ...turnOverrides(),
      rootTurnId: optional(z.string()),
      outputSchema: freeJson(z.unknown()).optional(),
      environments: environments(),
      additionalContext: additionalContext(),
      /** Of this turn alone. */
      serviceTierForTurn: optional(z.string().max(MAX_NAME)),
      /** Refused: a tool that nobody called has no output here. */
      toolOutput: freeJson(z.unknown()).optional(),
      /** Ours: an id of the client's choice, and what to do on a busy thread. */
      turnId: optional(z.string()),
      ifBusy: optional(z.enum(['reject', 'steer', 'queue'])),
    }),
  /** Ours: `queuedSubmissionId`, when the turn waits for the one that runs. */
  result: () => z.object({ turn: Turn(), queuedSubmissionId: z.string().optional() }),
  queue: (params) => threadQueue(params.threadId),
  needs: 'thread:write',
  mutates: 'store',
  onceKey: (params) =>
    params.clientUserMessageId ? `message:${params.threadId}:${params.clientUserMessageId}` : undefined,
  experimentalFields: [
    'additionalContext',
    'collaborationMode',
    'cyberAccessProgram',
    'environments',
    'multiAgentMode',
    'permissions',
    'responsesapiClientMetadata',
    'responsesapiClientMetadataPatch',
    'runtimeWorkspaceRoots',
  ],
});

export const turnSteer = request('turn/steer', {
  params: () =>
    z.object({
      threadId: z.string(),
      input: z.array(UserInput()),
      expectedTurnId: z.string(),
      clientUserMessageId: optional(z.string().max(MAX_NAME)),
      additionalContext: additionalContext(),
    }),
  result: () => z.object({ turnId: z.string() }),
  queue: (params) => threadQueue(params.threadId),
  needs: 'thread:write',
  mutates: 'store',
  onceKey: (params) =>
    params.clientUserMessageId ? `message:${params.threadId}:${params.clientUserMessageId}` : undefined,
  experimentalFields: ['additionalContext', 'responsesapiClientMetadata', 'responsesapiClientMetadataPatch'],
});

export const turnInterrupt = request('turn/interrupt', {
  params: () => z.object({ threadId: z.string(), turnId: z.string() }),
  result: () => z.object({ physicallySettled: z.boolean() }),
  queue: unqueued,
  needs: 'thread:write',
  mutates: false,
  isStop: true,
});

export const turnMethods = { turnStart, turnSteer, turnInterrupt };
