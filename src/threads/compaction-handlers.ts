// Compacting the model's view of a thread, and changing how the rest of a turn asks its model.

import { AppError } from '../base/errors.ts';
import { implement, type Route } from '../rpc/router.ts';
import { tenantOf } from './access.ts';
import { refuseOtherPlace } from './beside-input.ts';
import { compactionMethods } from './compaction-methods.ts';
import type { ThreadRegistry } from './registry.ts';
import { checkMayRun, given, partsFor, reviewerOf, type SettingsParts } from './settings.ts';

export function compactionHandlers(registry: ThreadRegistry, settings: SettingsParts): Route[] {
  return implement(compactionMethods, {
    threadCompactStart: async ({ threadId }, context) => {
      const runtime = await registry.load(tenantOf(context), threadId);
      if (runtime.meta.archived)
        throw new AppError('conflict', `thread ${threadId} is archived: unarchive it first`, { threadId });
      await checkMayRun(runtime.meta.settings, context.session.principal, settings);
      const reply = {};
      const release = runtime.hold();
      let begin = () => {};
      context.afterReply(() => {
        release();
        begin();
      });
      begin = await runtime.startCompaction(context.once(reply));
      return reply;
    },

    turnSettingsUpdate: async ({ threadId, turnId, approvalsReviewer, environments, ...wishes }, context) => {
      await reviewerOf(approvalsReviewer, partsFor(context.session.client, settings));
      const runtime = await registry.load(tenantOf(context), threadId);
      refuseOtherPlace(environments, runtime.meta.settings.cwd);
      await checkMayRun(runtime.meta.settings, context.session.principal, settings);
      return { status: runtime.adjustTurn(turnId, given(wishes)) ? 'applied' : 'targetUnavailable' };
    },
  });
}
