// Pages of threads, turns and items, as declared methods.

import { z } from 'zod';
import { Item } from '../model/item.ts';
import { optional, schema } from '../model/schema.ts';
import { ReadState, Thread } from '../model/thread.ts';
import { ItemsView } from '../model/turn.ts';
import { request, unqueued } from '../rpc/declare.ts';
import { SearchTerm, TurnsPage } from './schema.ts';
import { SortDirection } from './thread-methods.ts';

const page = () => ({
  cursor: optional(z.string()),
  limit: optional(z.int().min(0)),
  sortDirection: optional(SortDirection()),
});
const ids = () => optional(z.array(z.string()));
const cursors = () => ({ nextCursor: z.string().nullable(), backwardsCursor: z.string().nullable() });

export const ItemEntry = schema(() =>
  z.object({
    turnId: z.string(),
    item: Item(),
    outputDeferred: z.boolean().optional(),
    startedAtMs: z.int().nullable(),
    completedAtMs: z.int().nullable(),
  }),
);

export const threadList = request('thread/list', {
  params: () =>
    z.object({
      ...page(),
      includedThreadIds: ids(),
      excludedThreadIds: ids(),
      sortKey: optional(z.enum(['created_at', 'updated_at', 'recency_at', 'section_position'])),
      modelProviders: ids(),
      sourceKinds: ids(),
      originators: ids(),
      archived: optional(z.boolean()),
      sectionId: optional(z.string()),
      projectId: optional(z.string()),
      cwd: optional(z.union([z.string(), z.array(z.string())])),
      searchTerm: optional(SearchTerm()),
      parentThreadId: optional(z.string()),
      ancestorThreadId: optional(z.string()),
      attachedToThreadId: optional(z.string()),
    }),
  result: () =>
    z.object({
      data: z.array(Thread()),
      readStates: z.record(z.string(), ReadState()).nullable(),
      ...cursors(),
      /** Ours: threads may be missing while what is known of them is made anew. */
      partial: z.boolean().optional(),
    }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
  hasLargeAnswer: true,
  experimentalFields: [
    'ancestorThreadId',
    'attachedToThreadId',
    'includeAttachedThreads',
    'parentThreadId',
    'projectId',
  ],
});

export const threadLoadedList = request('thread/loaded/list', {
  params: () => z.object({ cursor: optional(z.string()), limit: optional(z.int().min(0)) }),
  result: () => z.object({ data: z.array(z.string()), nextCursor: z.string().nullable() }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
});

export const threadTurnsList = request('thread/turns/list', {
  params: () => z.object({ threadId: z.string(), ...page(), itemsView: optional(ItemsView()) }),
  result: TurnsPage,
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
  hasLargeAnswer: true,
});

export const threadItemsList = request('thread/items/list', {
  params: () =>
    z.object({
      threadId: z.string(),
      turnId: optional(z.string()),
      ...page(),
      cursor: optional(z.union([z.string(), z.object({ type: z.literal('item'), itemId: z.string() })])),
      deferOutput: optional(
        z.object({ commandExecution: z.boolean().optional(), mcpToolCall: z.boolean().optional() }),
      ),
    }),
  result: () =>
    z.object({
      data: z.array(ItemEntry()),
      ...cursors(),
    }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
  hasLargeAnswer: true,
});

export const listMethods = { threadList, threadLoadedList, threadTurnsList, threadItemsList };
