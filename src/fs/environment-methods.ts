// The environments that threads run in, as declared methods: there is one, the server's own.

import { z } from 'zod';
import { request, unqueued } from '../rpc/declare.ts';

const params = () => z.object({ environmentId: z.string() });

export const environmentInfo = request('environment/info', {
  params,
  result: () =>
    z.object({
      shell: z.object({ name: z.string(), path: z.string() }),
      /** A file URI. */
      cwd: z.string().nullable(),
    }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
  experimental: true,
});

export const environmentStatus = request('environment/status', {
  params,
  result: () => z.object({ status: z.enum(['ready', 'unknown']), error: z.string().optional() }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
  experimental: true,
});

export const environmentMethods = { environmentInfo, environmentStatus };
