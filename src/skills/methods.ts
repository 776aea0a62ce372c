// Skills by folder.

import { z } from 'zod';
import { request, unqueued } from '../rpc/declare.ts';

export const skillsList = request('skills/list', {
  params: () => z.object({ cwds: z.array(z.string()).nullish(), forceReload: z.boolean().nullish() }),
  result: () =>
    z.object({ data: z.array(z.object({ cwd: z.string(), skills: z.array(z.never()), errors: z.array(z.never()) })) }),
  queue: unqueued,
  needs: 'none',
  mutates: false,
});

export const skillsMethods = { skillsList };
