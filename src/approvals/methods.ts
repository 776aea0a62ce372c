// The permission profiles that a thread can be given.

import { z } from 'zod';
import { request, unqueued } from '../rpc/declare.ts';

export const permissionProfileList = request('permissionProfile/list', {
  params: () => z.object({ cursor: z.string().nullish(), limit: z.int().min(0).nullish(), cwd: z.string().nullish() }),
  result: () =>
    z.object({
      data: z.array(z.object({ id: z.string(), description: z.string().nullable(), allowed: z.boolean() })),
      nextCursor: z.string().nullable(),
    }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
});

export const permissionProfileMethods = { permissionProfileList };
