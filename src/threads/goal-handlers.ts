// What a thread is to reach: set, read and cleared by clients. It keeps track only: no turn begins by itself.

import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Goal } from '../model/thread.ts';
import type { Params } from '../rpc/declare.ts';
import { implement, type Route } from '../rpc/router.ts';
import { createAccess, tenantOf } from './access.ts';
import { goalMethods, type threadGoalSet } from './goal-methods.ts';
import type { ThreadRegistry } from './registry.ts';
import { seconds } from './view.ts';

export function goalHandlers(registry: ThreadRegistry, clock: Clock): Route[] {
  const { stored } = createAccess(registry);
  return implement(goalMethods, {
    threadGoalSet: async (params, context) => {
      const { threadId } = params;
      checkWishes(params);
      const runtime = await registry.load(tenantOf(context), threadId);
      if (runtime.meta.ephemeral) {
        throw new AppError('invalid', `ephemeral thread does not support goals: ${threadId}`, { threadId });
      }
      const goal = goalAfter(runtime.meta.goal, params, seconds(clock.now()));
      const reply = { goal };
      context.afterReply(runtime.hold());
      await runtime.change([{ type: 'goalChanged', goal, turnId: null }], context.once(reply));
      return reply;
    },

    threadGoalGet: async ({ threadId }, context) => ({ goal: (await stored(context, threadId)).meta.goal }),

    threadGoalClear: async ({ threadId }, context) => {
      const runtime = await registry.load(tenantOf(context), threadId);
      if (!runtime.meta.goal) {
        const once = context.once({ cleared: false });
        if (once) await runtime.change([], once);
        return { cleared: false };
      }
      context.afterReply(runtime.hold());
      await runtime.change([{ type: 'goalChanged', goal: null, turnId: null }], context.once({ cleared: true }));
      return { cleared: true };
    },
  });
}

function checkWishes({ threadId, objective, tokenBudget }: Params<typeof threadGoalSet>): void {
  if (typeof objective === 'string' && objective.trim() === '') {
    throw new AppError('invalid', 'goal objective must not be empty', { threadId });
  }
  if (typeof tokenBudget === 'number' && !(tokenBudget > 0)) {
    throw new AppError('invalid', 'goal budgets must be positive when provided', { threadId });
  }
}

function goalAfter(before: Goal | null, params: Params<typeof threadGoalSet>, now: number): Goal {
  const { threadId, objective, status, tokenBudget } = params;
  if (!before && !objective) {
    throw new AppError('conflict', `cannot update goal for thread ${threadId}: no goal exists`, { threadId });
  }
  const base: Goal = before ?? {
    threadId,
    objective: '',
    status: 'active',
    tokenBudget: null,
    tokensUsed: 0,
    timeUsedSeconds: 0,
    createdAt: now,
    updatedAt: now,
  };
  return {
    ...base,
    objective: objective?.trim() ?? base.objective,
    status: status ?? base.status,
    tokenBudget: tokenBudget === undefined ? base.tokenBudget : tokenBudget,
    updatedAt: now,
  };
}
