// Having the model review changes, in a turn of the thread.

import { hintOf, type ReviewTarget } from '../agent/review.ts';
import { AppError } from '../base/errors.ts';
import { newId } from '../model/ids.ts';
import { userMessage } from '../model/item.ts';
import type { Turn } from '../model/turn.ts';
import type { Params } from '../rpc/declare.ts';
import { implement, type Route } from '../rpc/router.ts';
import { tenantOf } from './access.ts';
import { isArchived } from './conflicts.ts';
import type { ThreadRegistry } from './registry.ts';
import { reviewMethods, type reviewStart } from './review-methods.ts';
import { checkMayRun, partsFor, type SettingsParts } from './settings.ts';
import { newTurnView } from './view.ts';

export function reviewHandlers(registry: ThreadRegistry, settings: SettingsParts): Route[] {
  return implement(reviewMethods, {
    reviewStart: async (params, context) => {
      const { threadId } = params;
      const target = targetOf(params);
      const runtime = await registry.load(tenantOf(context), threadId);
      if (runtime.meta.archived) throw isArchived(threadId);
      const { principal, client } = context.session;
      const turnId = newId();
      const { review_model: model } = await partsFor(client, settings).config.load(runtime.meta.settings.cwd);
      const current = runtime.meta.settings;
      await checkMayRun(model ? { ...current, model } : current, principal, settings);
      const wanted = { turnId, target, isCapped: !principal.isLocal, model };
      const reply = { turn: turnView(turnId, hintOf(target)), reviewThreadId: threadId };
      const release = runtime.hold();
      let begin = () => {};
      context.afterReply(() => {
        release();
        begin();
      });
      begin = await runtime.startReview(wanted, context.once(reply));
      return reply;
    },
  });
}

function targetOf({ threadId, target }: Params<typeof reviewStart>): ReviewTarget {
  const empty = Object.entries(target).find(([name, value]) => name !== 'title' && String(value).trim() === '');
  if (empty) throw new AppError('invalid', `${empty[0]} must not be empty`, { threadId });
  return target.type === 'commit' ? { ...target, title: target.title ?? null } : target;
}

/** The answer shows what is asked under the id of the turn, as clients of the reference expect it. */
function turnView(turnId: string, text: string): Turn {
  const message = userMessage(turnId, [{ type: 'text', text, text_elements: [] }], null, 0);
  return { ...newTurnView(turnId, turnId), rootTurnId: null, items: [{ ...message, startedAtMs: null }] };
}
