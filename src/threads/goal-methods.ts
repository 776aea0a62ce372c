// What a thread is to reach, as declared methods.

import { z } from 'zod';
import { optional } from '../model/schema.ts';
import { Goal } from '../model/thread.ts';
import { request, threadQueue, unqueued } from '../rpc/declare.ts';

const threadId = () => ({ threadId: z.string() });
const ofThread = (params: { threadId: string }) => threadQueue(params.threadId);

export const threadGoalSet = request('thread/goal/set', {
  params: () =>
    z.object({
      ...threadId(),
      origin: optional(z.enum(['user', 'automatic'])),
      objective: optional(z.string()),
      status: optional(Goal().shape.status),
      /** Absent: as it is; null: none. */
      tokenBudget: z.int().nullish(),
    }),
  result: () => z.object({ goal: Goal() }),
  queue: ofThread,
  needs: 'thread:write',
  mutates: 'store',
});

export const threadGoalGet = request('thread/goal/get', {
  params: () => z.object(threadId()),
  result: () => z.object({ goal: Goal().nullable() }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
});

export const threadGoalClear = request('thread/goal/clear', {
  params: () => z.object(threadId()),
  result: () => z.object({ cleared: z.boolean() }),
  queue: ofThread,
  needs: 'thread:write',
  mutates: 'store',
});

export const goalMethods = { threadGoalSet, threadGoalGet, threadGoalClear };
