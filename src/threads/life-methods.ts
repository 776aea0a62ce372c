// Naming, archiving and deleting threads, as declared methods.

import { z } from 'zod';
import { optional } from '../model/schema.ts';
import { Thread } from '../model/thread.ts';
import { request, threadQueue } from '../rpc/declare.ts';
import { MAX_TITLE } from './overrides.ts';

const threadId = () => ({ threadId: z.string() });
const ofThread = (params: { threadId: string }) => threadQueue(params.threadId);
const nothing = () => z.object({});

export const threadNameSet = request('thread/name/set', {
  params: () => z.object({ ...threadId(), name: z.string().max(MAX_TITLE) }),
  result: nothing,
  queue: ofThread,
  needs: 'thread:write',
  mutates: 'store',
});

export const threadArchive = request('thread/archive', {
  params: () => z.object(threadId()),
  result: nothing,
  queue: ofThread,
  needs: 'thread:write',
  mutates: 'store',
});

export const threadUnarchive = request('thread/unarchive', {
  params: () => z.object(threadId()),
  result: () => z.object({ thread: Thread(), headSeq: z.int() }),
  queue: ofThread,
  needs: 'thread:write',
  mutates: 'store',
});

export const threadDelete = request('thread/delete', {
  params: () => z.object({ ...threadId(), dryRun: optional(z.boolean()) }),
  result: () => z.object({ threadIds: z.array(z.string()).optional() }),
  queue: ofThread,
  needs: 'thread:write',
  mutates: 'store',
});

export const lifeMethods = { threadNameSet, threadArchive, threadUnarchive, threadDelete };
