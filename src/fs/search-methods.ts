// Finding files by parts of their names, as declared methods.

import { z } from 'zod';
import { optional, schema } from '../model/schema.ts';
import { notification, request, unqueued } from '../rpc/declare.ts';

const FileMatch = schema(() =>
  z.object({
    root: z.string(),
    /** Below the root. */
    path: z.string(),
    match_type: z.enum(['file', 'directory']),
    file_name: z.string(),
    score: z.int().min(0),
    /** Places in `path`, in characters, of what was matched. */
    indices: z.array(z.int().min(0)).nullable(),
  }),
);

/** Each is listed by a program of its own. */
const roots = () => z.array(z.string()).max(32);

const sessionQueue = (params: { readonly sessionId: string }) => ({ key: `search:${params.sessionId}` });

export const fuzzyFileSearch = request('fuzzyFileSearch', {
  params: () =>
    z.object({
      query: z.string(),
      roots: roots(),
      /** A search with the same token ends an earlier one, which answers with what it has found so far. */
      cancellationToken: optional(z.string()),
    }),
  result: () => z.object({ files: z.array(FileMatch()) }),
  queue: unqueued,
  needs: 'fs',
  mutates: false,
});

export const fuzzyFileSearchSessionStart = request('fuzzyFileSearch/sessionStart', {
  params: () => z.object({ sessionId: z.string(), roots: roots() }),
  result: () => z.object({}),
  queue: sessionQueue,
  needs: 'fs',
  mutates: false,
  experimental: true,
});

export const fuzzyFileSearchSessionUpdate = request('fuzzyFileSearch/sessionUpdate', {
  params: () => z.object({ sessionId: z.string(), query: z.string() }),
  result: () => z.object({}),
  queue: sessionQueue,
  needs: 'fs',
  mutates: false,
  experimental: true,
});

export const fuzzyFileSearchSessionStop = request('fuzzyFileSearch/sessionStop', {
  params: () => z.object({ sessionId: z.string() }),
  result: () => z.object({}),
  queue: sessionQueue,
  needs: 'fs',
  mutates: false,
  experimental: true,
});

export const fuzzyFileSearchSessionUpdated = notification(
  'fuzzyFileSearch/sessionUpdated',
  () => z.object({ sessionId: z.string(), query: z.string(), files: z.array(FileMatch()) }),
  { experimental: true },
);

export const fuzzyFileSearchSessionCompleted = notification(
  'fuzzyFileSearch/sessionCompleted',
  () => z.object({ sessionId: z.string() }),
  { experimental: true },
);

export const searchMethods = {
  fuzzyFileSearch,
  fuzzyFileSearchSessionStart,
  fuzzyFileSearchSessionUpdate,
  fuzzyFileSearchSessionStop,
};
