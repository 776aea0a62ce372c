// The method by which a user runs a command in a thread.

import { z } from 'zod';
import { optional } from '../model/schema.ts';
import { request, threadQueue } from '../rpc/declare.ts';

export const threadShellCommand = request('thread/shellCommand', {
  params: () => z.object({ threadId: z.string(), command: z.string(), timeoutMs: optional(z.int()) }),
  result: () => z.object({}),
  queue: ({ threadId }) => threadQueue(threadId),
  needs: 'process',
  mutates: 'store',
});

export const shellMethods = { threadShellCommand };
