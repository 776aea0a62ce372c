// The request with which the server has a client run a tool that it declared.

import { z } from 'zod';
import { ClientToolResponse } from '../model/client-tool.ts';
import { request, unqueued } from '../rpc/declare.ts';

export const clientToolCall = request('item/tool/call', {
  params: () =>
    z.object({
      threadId: z.string(),
      turnId: z.string(),
      callId: z.string(),
      namespace: z.string().nullable(),
      tool: z.string(),
      arguments: z.unknown(),
    }),
  result: ClientToolResponse,
  queue: unqueued,
  needs: 'thread:write',
  mutates: false,
});
