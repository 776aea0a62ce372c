// What is known about a thread beside its history, as declared methods.

import { z } from 'zod';
import { optional } from '../model/schema.ts';
import { ReadState, Thread } from '../model/thread.ts';
import { request, threadQueue } from '../rpc/declare.ts';
import { environments, turnOverrides } from './overrides.ts';

const threadId = () => ({ threadId: z.string() });
const ofThread = (params: { threadId: string }) => threadQueue(params.threadId);
const nothing = () => z.object({});

/** Absent: as it is; null: taken away. */
const change = () => z.string().max(4_096).nullish();

export const threadMetadataUpdate = request('thread/metadata/update', {
  params: () =>
    z.object({
      ...threadId(),
      gitInfo: optional(z.object({ sha: change(), branch: change(), originUrl: change() })),
      projectId: optional(z.string()),
    }),
  result: () => z.object({ thread: Thread(), headSeq: z.int() }),
  queue: ofThread,
  needs: 'thread:write',
  mutates: 'store',
});

export const threadReadStateUpdate = request('thread/readState/update', {
  params: () =>
    z.object({
      ...threadId(),
      operation: z.object({ type: z.enum(['read', 'unread']) }),
      expectedRevision: z.string(),
    }),
  result: () => z.object({ readState: ReadState() }),
  queue: ofThread,
  needs: 'thread:write',
  mutates: 'store',
  experimental: true,
});

export const threadSettingsUpdate = request('thread/settings/update', {
  params: () => z.object({ ...threadId(), ...turnOverrides(), environments: environments() }),
  result: nothing,
  queue: ofThread,
  needs: 'thread:write',
  mutates: 'store',
  experimental: true,
});

export const metadataMethods = { threadMetadataUpdate, threadReadStateUpdate, threadSettingsUpdate };
