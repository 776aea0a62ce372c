// Sections, and the threads in them, as declared methods.

import { z } from 'zod';
import { optional } from '../model/schema.ts';
import { ThreadSection } from '../model/thread.ts';
import { request, unqueued } from '../rpc/declare.ts';
import { MAX_TITLE } from './overrides.ts';

/** Short, because every thread of a list carries what its section looks like. */
const look = () => optional(z.string().max(256));
const appearance = () => z.object({ icon: look(), color: look() });
const section = () => z.object({ section: ThreadSection() });
const nothing = () => z.object({});

/** What changes sections or the order in them: one after the other, so that a place is taken once. */
const change = {
  queue: () => ({ key: 'sections' }),
  needs: 'thread:write',
  mutates: 'store',
} as const;

export const threadSectionList = request('threadSection/list', {
  params: () => z.object({ cursor: optional(z.string()), limit: optional(z.int().min(0)) }),
  result: () => z.object({ data: z.array(ThreadSection()), nextCursor: z.string().nullable() }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
});

export const threadSectionCreate = request('threadSection/create', {
  params: () => z.object({ name: z.string().max(MAX_TITLE), appearance: optional(appearance()) }),
  result: section,
  ...change,
});

export const threadSectionUpdate = request('threadSection/update', {
  params: () =>
    z.object({
      sectionId: z.string(),
      name: z.string().max(MAX_TITLE),
      /** Absent: as it is; null: none. */
      appearance: appearance().nullish(),
    }),
  result: section,
  ...change,
});

export const threadSectionDelete = request('threadSection/delete', {
  params: () => z.object({ sectionId: z.string() }),
  result: nothing,
  ...change,
});

export const threadSectionMove = request('thread/section/move', {
  params: () =>
    z.object({ threadId: z.string(), sectionId: z.string().nullable(), beforeThreadId: optional(z.string()) }),
  result: nothing,
  ...change,
});

export const sectionMethods = {
  threadSectionList,
  threadSectionCreate,
  threadSectionUpdate,
  threadSectionDelete,
  threadSectionMove,
};
