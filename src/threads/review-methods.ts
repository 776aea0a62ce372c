// Having the model review changes, as a declared method.

import { z } from 'zod';
import { optional } from '../model/schema.ts';
import { Turn } from '../model/turn.ts';
import { request, threadQueue } from '../rpc/declare.ts';

/** Characters of a reviewer's question. */
const MAX_INSTRUCTIONS = 64 * 1024;

const Target = () =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('uncommittedChanges') }),
    z.object({ type: z.literal('baseBranch'), branch: z.string().max(1024) }),
    z.object({ type: z.literal('commit'), sha: z.string().max(1024), title: optional(z.string().max(1024)) }),
    z.object({ type: z.literal('custom'), instructions: z.string().max(MAX_INSTRUCTIONS) }),
  ]);

export const reviewStart = request('review/start', {
  params: () => z.object({ threadId: z.string(), target: Target(), delivery: optional(z.enum(['inline'])) }),
  result: () => z.object({ turn: Turn(), reviewThreadId: z.string() }),
  queue: ({ threadId }) => threadQueue(threadId),
  needs: 'thread:write',
  mutates: 'store',
});

export const reviewMethods = { reviewStart };
