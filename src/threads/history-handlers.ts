// What changes or reads the history of a thread as a whole.

import { AppError } from '../base/errors.ts';
import type { ContextItem } from '../model/context.ts';
import { newId, type TurnId } from '../model/ids.ts';
import type { ThreadStatus } from '../model/thread.ts';
import type { Turn } from '../model/turn.ts';
import { type Context, implement, type Route } from '../rpc/router.ts';
import { createAccess, tenantOf } from './access.ts';
import { isCompacting } from './conflicts.ts';
import { historyMethods } from './history-methods.ts';
import { itemEntries, newestCursors, wholeTurns } from './pages.ts';
import type { ThreadRegistry } from './registry.ts';
import type { LiveThread } from './state.ts';
import { threadView } from './view.ts';

/** Turns that one call can take back. */
const MAX_REVERTED = 10_000;

export function historyHandlers(registry: ThreadRegistry): Route[] {
  const { loaded, stored } = createAccess(registry);
  const shownOf = (context: Context, { meta, head }: LiveThread, status: ThreadStatus, turns?: Turn[]) => ({
    thread: threadView(meta, status, registry.sectionOf(tenantOf(context), meta), turns),
    headSeq: head,
  });
  return implement(historyMethods, {
    threadRevert: async ({ threadId, beforeTurnId }, context) => {
      const runtime = await loaded(context, threadId);
      if (runtime.meta.historyMode === 'legacy') {
        throw new AppError('invalid', 'thread/revert only supports paginated threads', { threadId });
      }
      const { store } = await stored(context, threadId);
      const first = await store.turn(threadId, beforeTurnId);
      if (!first) throw new AppError('notFound', `turn not found: ${beforeTurnId}`, { threadId, turnId: beforeTurnId });
      return runtime.betweenTurns(async () => {
        const from = { key: first.seq, inclusive: true };
        const { rows } = await store.turns(threadId, { direction: 'asc', limit: MAX_REVERTED, from });
        const turnIds = rows.map((row) => row.id);
        const cursors = await newestCursors(store, threadId, first.seq);
        context.afterReply(runtime.hold());
        const { firstUnread } = runtime.meta.readState;
        const isUnread = firstUnread?.type === 'turn' && turnIds.includes(firstUnread.turnId);
        const reply = await runtime.answer(
          [
            { type: 'turnsReverted', firstTurnId: beforeTurnId, turnIds },
            ...(isUnread ? [{ type: 'threadRead' as const, throughTurnId: null, revision: newId() }] : []),
          ],
          (thread, status) => ({ ...shownOf(context, thread, status), ...cursors }),
          context.once,
        );
        if (isUnread) context.afterReply(() => registry.tell(tenantOf(context), threadId, ['readState']));
        return reply;
      });
    },

    threadRollback: async ({ threadId, numTurns }, context) => {
      const runtime = await loaded(context, threadId);
      return runtime.betweenTurns(async () => {
        const { store } = await stored(context, threadId);
        const { rows } = await store.turns(threadId, { direction: 'desc', limit: numTurns });
        const reverted = rows.map((row) => row.id);
        const { turns } = await wholeTurns(store, threadId);
        const kept = turns.filter((turn) => !reverted.includes(turn.id));
        context.afterReply(runtime.hold());
        const firstTurnId = reverted.at(-1);
        return runtime.answer(
          firstTurnId === undefined ? [] : [{ type: 'turnsReverted', firstTurnId, turnIds: reverted }],
          (thread, status) => shownOf(context, thread, status, kept),
          context.once,
        );
      });
    },

    threadInjectItems: async ({ threadId, items }, context) => {
      const runtime = await loaded(context, threadId);
      if (runtime.isCompacting) throw isCompacting(threadId);
      if (items.length === 0) throw new AppError('invalid', 'items must not be empty', { threadId });
      const odd = items.findIndex(({ type }) => typeof type !== 'string');
      if (odd >= 0)
        throw new AppError('invalid', `items[${odd}] has no type, and so is no item of a model`, { threadId });
      const raw = items.map((item): ContextItem => ({ type: 'raw', item }));
      const outsideTurns: TurnId = '';
      await runtime.change([{ type: 'contextAdded', turnId: outsideTurns, items: raw }], context.once({}));
      return {};
    },

    threadItemsRead: async ({ threadId, turnId, itemIds }, context) => {
      const { store } = await stored(context, threadId);
      return { data: await itemEntries(store, threadId, turnId, itemIds) };
    },
  });
}
