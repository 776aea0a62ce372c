// The methods that change what the model is shown or how it is asked, beside the turns themselves.

import { z } from 'zod';
import { ApprovalsReviewer } from '../model/policy.ts';
import { optional } from '../model/schema.ts';
import { request, threadQueue } from '../rpc/declare.ts';
import { environments, MAX_NAME } from './overrides.ts';

export const threadCompactStart = request('thread/compact/start', {
  params: () => z.object({ threadId: z.string() }),
  result: () => z.object({}),
  queue: ({ threadId }) => threadQueue(threadId),
  needs: 'thread:write',
  mutates: 'store',
});

/** For the rest of one turn; later turns are as the thread's settings say. */
export const turnSettingsUpdate = request('turn/settings/update', {
  params: () =>
    z.object({
      threadId: z.string(),
      turnId: z.string(),
      approvalsReviewer: optional(ApprovalsReviewer()),
      environments: environments(),
      model: optional(z.string()),
      effort: optional(z.string().max(MAX_NAME)),
      summary: optional(z.enum(['auto', 'concise', 'detailed', 'none'])),
      serviceTier: optional(z.string()),
    }),
  result: () => z.object({ status: z.enum(['applied', 'targetUnavailable']) }),
  queue: ({ threadId }) => threadQueue(threadId),
  needs: 'thread:write',
  mutates: false,
  experimental: true,
});

export const compactionMethods = { threadCompactStart, turnSettingsUpdate };
