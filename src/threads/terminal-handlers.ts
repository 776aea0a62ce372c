// Commands of a thread that were left running: listed and ended. A thread that is not loaded has none.

import { pageOf } from '../base/page.ts';
import { implement, type Route } from '../rpc/router.ts';
import { createAccess } from './access.ts';
import type { ThreadRegistry } from './registry.ts';
import { terminalMethods } from './terminal-methods.ts';

export function terminalHandlers(registry: ThreadRegistry): Route[] {
  const { stored } = createAccess(registry);
  return implement(terminalMethods, {
    threadBackgroundTerminalsList: async ({ threadId, ...page }, context) => {
      const { runtime } = await stored(context, threadId);
      const all = (runtime?.sessions.left ?? []).map(({ item, number, line }) => ({
        itemId: item.id,
        processId: number ?? '',
        command: line,
        cwd: item.cwd,
        ...{ osPid: null, cpuPercent: null, rssKb: null },
      }));
      const scope = ['thread/backgroundTerminals/list', threadId];
      return pageOf(all, page, { scope, keyOf: ({ itemId }) => itemId });
    },

    threadBackgroundTerminalsTerminate: async ({ threadId, processId }, context) => {
      const { runtime } = await stored(context, threadId);
      const session = runtime?.sessions.left.find(({ number }) => number === processId);
      await session?.end();
      return { terminated: session !== undefined };
    },

    threadBackgroundTerminalsClean: async ({ threadId }, context) => {
      const { runtime } = await stored(context, threadId);
      await Promise.all((runtime?.sessions.left ?? []).map((session) => session.end()));
      return {};
    },
  });
}
