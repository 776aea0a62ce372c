// Finding what was said, as declared methods.

import { z } from 'zod';
import { optional } from '../model/schema.ts';
import { Thread } from '../model/thread.ts';
import { request, unqueued } from '../rpc/declare.ts';
import { SearchTerm } from './schema.ts';
import { SortDirection } from './thread-methods.ts';

export const threadSearch = request('thread/search', {
  params: () =>
    z.object({
      searchTerm: SearchTerm(),
      cursor: optional(z.string()),
      limit: optional(z.int().min(0)),
      sortKey: optional(z.enum(['created_at', 'updated_at', 'recency_at'])),
      sortDirection: optional(SortDirection()),
      sourceKinds: optional(z.array(z.string())),
      archived: optional(z.boolean()),
    }),
  result: () =>
    z.object({
      data: z.array(z.object({ thread: Thread(), snippet: z.string() })),
      nextCursor: z.string().nullable(),
      backwardsCursor: z.string().nullable(),
    }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
  experimental: true,
});

export const threadSearchOccurrences = request('thread/searchOccurrences', {
  params: () =>
    z.object({
      threadId: z.string(),
      searchTerm: SearchTerm(),
      cursor: optional(z.string()),
      limit: optional(z.int().min(0)),
    }),
  result: () =>
    z.object({
      data: z.array(
        z.object({
          turnId: z.string(),
          itemId: z.string(),
          snippet: z.string(),
          /** In UTF-16 code units of the snippet. */
          snippetMatchRange: z.object({ start: z.int().min(0), end: z.int().min(0) }),
          /** For `thread/turns/list`: begins at the turn. */
          turnCursor: z.string(),
        }),
      ),
      nextCursor: z.string().nullable(),
    }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
  experimental: true,
});

export const searchMethods = { threadSearch, threadSearchOccurrences };
