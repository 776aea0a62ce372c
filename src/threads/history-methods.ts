// What changes or reads the history of a thread as a whole, as declared methods.

import { z } from 'zod';
import { freeJson, JsonObject } from '../model/schema.ts';
import { Thread } from '../model/thread.ts';
import { request, threadQueue, unqueued } from '../rpc/declare.ts';
import { ItemEntry } from './list-methods.ts';

const threadId = () => ({ threadId: z.string() });
const ofThread = (params: { threadId: string }) => threadQueue(params.threadId);
const nothing = () => z.object({});

export const threadRevert = request('thread/revert', {
  params: () => z.object({ ...threadId(), beforeTurnId: z.string() }),
  result: () =>
    z.object({
      thread: Thread(),
      turnsBackwardsCursor: z.string().nullable(),
      itemsBackwardsCursor: z.string().nullable(),
      headSeq: z.int(),
    }),
  queue: ofThread,
  needs: 'thread:write',
  mutates: 'store',
});

export const threadRollback = request('thread/rollback', {
  params: () => z.object({ ...threadId(), numTurns: z.int().min(1) }),
  result: () => z.object({ thread: Thread(), headSeq: z.int() }),
  queue: ofThread,
  needs: 'thread:write',
  mutates: 'store',
  hasLargeAnswer: true,
});

export const threadInjectItems = request('thread/inject_items', {
  params: () => z.object({ ...threadId(), items: z.array(freeJson(JsonObject())) }),
  result: nothing,
  queue: ofThread,
  needs: 'thread:write',
  mutates: 'store',
});

export const threadItemsRead = request('thread/items/read', {
  params: () => z.object({ ...threadId(), turnId: z.string(), itemIds: z.array(z.string()).max(100) }),
  result: () => z.object({ data: z.array(ItemEntry()) }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
  hasLargeAnswer: true,
  experimental: true,
});

export const historyMethods = {
  threadRevert,
  threadRollback,
  threadInjectItems,
  threadItemsRead,
};
