// Watching files and folders, as declared methods.

import { z } from 'zod';
import { optional } from '../model/schema.ts';
import { notification, request } from '../rpc/declare.ts';
import { AbsolutePath } from './schema.ts';

export const fsWatch = request('fs/watch', {
  params: () =>
    z.object({
      watchId: z.string(),
      path: AbsolutePath(),
      /** Ours: everything below, but for folders that ignore files name. */
      recursive: optional(z.boolean()),
    }),
  result: () =>
    z.object({
      /** The real path; changed paths begin with it. */
      path: z.string(),
      /** False: there are more folders than one watch may hold, and changes in some are not seen. */
      isComplete: z.boolean(),
    }),
  queue: (params) => ({ key: `watch:${params.watchId}` }),
  needs: 'fs',
  mutates: false,
});

export const fsUnwatch = request('fs/unwatch', {
  params: () => z.object({ watchId: z.string() }),
  result: () => z.object({}),
  queue: (params) => ({ key: `watch:${params.watchId}` }),
  needs: 'fs',
  mutates: false,
});

export const fsChanged = notification('fs/changed', () =>
  z.object({
    watchId: z.string(),
    changedPaths: z.array(z.string()),
    /** Changes may have been missed: look at everything again. */
    rescan: z.boolean().optional(),
  }),
);

export const watchMethods = { fsWatch, fsUnwatch };
