// Methods for the commands of a thread that were left running.

import { z } from 'zod';
import { optional } from '../model/schema.ts';
import { request, unqueued } from '../rpc/declare.ts';

const threadId = () => ({ threadId: z.string() });

/** The number by which the model knows it; what the system says of the process is not told. */
const BackgroundTerminal = () =>
  z.object({
    itemId: z.string(),
    processId: z.string(),
    command: z.string(),
    cwd: z.string(),
    osPid: z.null(),
    cpuPercent: z.null(),
    rssKb: z.null(),
  });

export const threadBackgroundTerminalsList = request('thread/backgroundTerminals/list', {
  params: () => z.object({ ...threadId(), cursor: optional(z.string()), limit: optional(z.int().min(0)) }),
  result: () => z.object({ data: z.array(BackgroundTerminal()), nextCursor: z.string().nullable() }),
  queue: unqueued,
  needs: 'thread:read',
  mutates: false,
  experimental: true,
});

/** Answered when nothing of it is left and its item is completed. */
export const threadBackgroundTerminalsTerminate = request('thread/backgroundTerminals/terminate', {
  params: () => z.object({ ...threadId(), processId: z.string() }),
  result: () => z.object({ terminated: z.boolean() }),
  queue: unqueued,
  needs: 'thread:write',
  mutates: false,
  isStop: true,
  experimental: true,
});

/** The same for all of them. */
export const threadBackgroundTerminalsClean = request('thread/backgroundTerminals/clean', {
  params: () => z.object(threadId()),
  result: () => z.object({}),
  queue: unqueued,
  needs: 'thread:write',
  mutates: false,
  isStop: true,
  experimental: true,
});

export const terminalMethods = {
  threadBackgroundTerminalsList,
  threadBackgroundTerminalsTerminate,
  threadBackgroundTerminalsClean,
};
