// What is attached to threads, as declared methods.

import { z } from 'zod';
import { freeJson, optional } from '../model/schema.ts';
import { request, threadQueue, unqueued } from '../rpc/declare.ts';

/** Characters of a type, and of a key, that may be added; what has been added is found and removed whatever its length. */
const MAX_IDENTITY = 1024;

const threadId = () => ({ threadId: z.string() });
const identity = () => ({ attachmentType: z.string(), identityKey: z.string() });
const page = () => ({ cursor: optional(z.string()), limit: optional(z.int().min(0)) });
const Attachment = () => z.object({ id: z.string(), ...identity(), payload: z.unknown(), createdAt: z.int() });

/** What changes the attachments of a thread. */
const change = {
  queue: (params: { threadId: string }) => threadQueue(params.threadId),
  needs: 'thread:write',
  mutates: 'store',
} as const;

export const threadAttachmentAdd = request('thread/attachment/add', {
  params: () =>
    z.object({
      ...threadId(),
      attachmentType: z.string().max(MAX_IDENTITY),
      identityKey: z.string().max(MAX_IDENTITY),
      /** Any JSON value. */
      payload: freeJson(z.unknown().refine((value) => value !== undefined, 'missing')),
    }),
  result: () => z.object({ outcome: z.enum(['created', 'existing']), attachment: Attachment() }),
  ...change,
});

export const threadAttachmentRemove = request('thread/attachment/remove', {
  params: () => z.object({ ...threadId(), ...identity() }),
  result: () => z.object({}),
  ...change,
});

export const threadAttachmentList = request('thread/attachment/list', {
  params: () => z.object({ ...threadId(), ...page() }),
  result: () => z.object({ data: z.array(Attachment()), nextCursor: z.string().nullable() }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
  hasLargeAnswer: true,
});

export const threadAttachmentOwnerList = request('thread/attachmentOwner/list', {
  params: () => z.object({ ...identity(), archived: optional(z.boolean()), ...page() }),
  result: () =>
    z.object({
      data: z.array(z.object({ threadId: z.string(), archived: z.boolean() })),
      nextCursor: z.string().nullable(),
    }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
});

export const attachmentMethods = {
  threadAttachmentAdd,
  threadAttachmentRemove,
  threadAttachmentList,
  threadAttachmentOwnerList,
};
