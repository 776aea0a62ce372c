// Naming, archiving and deleting threads.

import { AppError } from '../base/errors.ts';
import { refused } from '../history/shut.ts';
import { implement, type Route } from '../rpc/router.ts';
import { createAccess, NOT_LOADED, requireStored, tenantOf } from './access.ts';
import { lifeMethods } from './life-methods.ts';
import type { ThreadRegistry } from './registry.ts';
import { threadView } from './view.ts';

export function lifeHandlers(registry: ThreadRegistry): Route[] {
  const { loaded, stored } = createAccess(registry);
  return implement(lifeMethods, {
    threadNameSet: async ({ threadId, name: given }, context) => {
      const name = given.trim();
      if (name === '') throw new AppError('invalid', 'thread name must not be empty', { threadId });
      const runtime = await loaded(context, threadId);
      requireStored(runtime, 'metadata updates');
      context.afterReply(runtime.hold());
      await runtime.change([{ type: 'threadNamed', name }], context.once({}));
      return {};
    },

    threadArchive: async ({ threadId }, context) => {
      const tenant = tenantOf(context);
      const runtime = await loaded(context, threadId);
      requireStored(runtime, 'archiving');
      if (runtime.meta.archived) {
        throw new AppError('conflict', `no rollout found for thread id ${threadId} (it is archived already)`, {
          threadId,
        });
      }
      await runtime.betweenTurns(() => runtime.change([{ type: 'threadArchived' }], context.once({})));
      const { meta } = runtime;
      await registry.unload(tenant, threadId);
      context.afterReply(() => registry.tell(tenant, threadId, ['status', 'archived'], { meta, status: NOT_LOADED }));
      return {};
    },

    threadUnarchive: async ({ threadId }, context) => {
      const tenant = tenantOf(context);
      const runtime = await loaded(context, threadId);
      if (!runtime.meta.archived)
        throw new AppError('conflict', `no archived rollout found for thread id ${threadId}`, { threadId });
      const reply = await runtime.answer(
        [{ type: 'threadUnarchived' }],
        ({ meta, head }) => ({
          thread: threadView(meta, NOT_LOADED, registry.sectionOf(tenant, meta)),
          headSeq: head,
        }),
        context.once,
      );
      const { meta } = runtime;
      await registry.unload(tenant, threadId);
      context.afterReply(() => registry.tell(tenant, threadId, ['unarchived'], { meta, status: NOT_LOADED }));
      return reply;
    },

    threadDelete: async ({ threadId, dryRun }, context) => {
      const tenant = tenantOf(context);
      if (dryRun) {
        await stored(context, threadId);
        return { threadIds: [threadId] };
      }
      const runtime = await loaded(context, threadId);
      const { meta } = runtime;
      const { shut } = registry.store(tenant);
      if (shut !== undefined && !meta.ephemeral) throw refused(shut);
      await runtime.betweenTurns(() => registry.unload(tenant, threadId));
      if (!meta.ephemeral) await registry.store(tenant).remove(threadId, context.once({}));
      context.afterReply(() => registry.tell(tenant, threadId, ['status', 'deleted'], { meta, status: NOT_LOADED }));
      return {};
    },
  });
}
