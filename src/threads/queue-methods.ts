// Input that waits until the thread is idle, as declared methods.

import { z } from 'zod';
import { UserInput } from '../model/input.ts';
import { optional } from '../model/schema.ts';
import { QueuedSubmission } from '../model/thread.ts';
import { Turn } from '../model/turn.ts';
import { request, threadQueue, unqueued } from '../rpc/declare.ts';
import { MAX_NAME } from './overrides.ts';

const threadId = () => ({ threadId: z.string() });
const metadata = () => ({ responsesapiClientMetadata: optional(z.record(z.string(), z.string())) });
const one = () => z.object({ queuedSubmission: QueuedSubmission() });

/** What all methods that change the queue have in common. */
const change = {
  queue: (params: { threadId: string }) => threadQueue(params.threadId),
  needs: 'thread:write',
  mutates: 'store',
  experimental: true,
} as const;

export const threadQueueAdd = request('thread/queue/add', {
  params: () =>
    z.object({
      ...threadId(),
      input: z.array(UserInput()),
      clientUserMessageId: z.string().max(MAX_NAME),
      ...metadata(),
    }),
  result: one,
  ...change,
});

export const threadQueueList = request('thread/queue/list', {
  params: () => z.object({ ...threadId(), cursor: optional(z.string()), limit: optional(z.int().min(0)) }),
  result: () => z.object({ data: z.array(QueuedSubmission()), nextCursor: z.string().nullable() }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
  hasLargeAnswer: true,
  experimental: true,
});

export const threadQueueUpdate = request('thread/queue/update', {
  params: () => z.object({ ...threadId(), queuedSubmissionId: z.string(), input: z.array(UserInput()), ...metadata() }),
  result: one,
  ...change,
});

export const threadQueueReorder = request('thread/queue/reorder', {
  params: () => z.object({ ...threadId(), queuedSubmissionIds: z.array(z.string()) }),
  result: () => z.object({}),
  ...change,
});

export const threadQueueDelete = request('thread/queue/delete', {
  params: () => z.object({ ...threadId(), queuedSubmissionId: z.string() }),
  result: () => z.object({ deleted: z.boolean() }),
  ...change,
});

export const threadQueueStart = request('thread/queue/start', {
  params: () => z.object({ ...threadId(), queuedSubmissionId: optional(z.string()) }),
  result: () => z.object({ turn: Turn() }),
  ...change,
});

export const queueMethods = {
  threadQueueAdd,
  threadQueueList,
  threadQueueUpdate,
  threadQueueReorder,
  threadQueueDelete,
  threadQueueStart,
};
