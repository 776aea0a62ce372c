// MCP servers and how they are.

import { z } from 'zod';
import { request, unqueued } from '../rpc/declare.ts';

export const mcpServerStatusList = request('mcpServerStatus/list', {
  params: () =>
    z.object({
      cursor: z.string().nullish(),
      limit: z.int().min(0).nullish(),
      serverName: z.string().nullish(),
    }),
  result: () => z.object({ data: z.array(z.never()), nextCursor: z.null() }),
  queue: unqueued,
  needs: 'none',
  mutates: false,
});

export const mcpMethods = { mcpServerStatusList };
