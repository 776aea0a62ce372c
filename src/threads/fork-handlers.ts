// A new thread that begins with the history of another: in storage of its own, under the same turn and item ids.

import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { ThreadStore } from '../history/store.ts';
import { chosenId, newId, type Seq, type ThreadId } from '../model/ids.ts';
import { noSuchThread } from '../model/missing.ts';
import type { ThreadMeta, ThreadSettings } from '../model/thread.ts';
import type { Params } from '../rpc/declare.ts';
import { type Context, implement, type Route } from '../rpc/router.ts';
import type { Session } from '../rpc/session.ts';
import { createAccess, tenantOf } from './access.ts';
import type { Subscriber } from './cursor.ts';
import { forkMethods, type threadFork } from './fork-methods.ts';
import { createListening } from './listening.ts';
import { newMeta } from './new-meta.ts';
import { giveOwn, ownServersOf } from './own-servers.ts';
import { tellOfPages } from './page-advice.ts';
import { wholeTurns } from './pages.ts';
import type { ThreadRegistry } from './registry.ts';
import type { ThreadRuntime } from './runtime.ts';
import { type SettingsParts, settingsAfter } from './settings.ts';
import type { Place } from './thread-log.ts';
import { adoptedView } from './view.ts';

export interface ForkHandlerParts {
  readonly registry: ThreadRegistry;
  readonly settings: SettingsParts;
  readonly subscriberOf: (session: Session) => Subscriber;
  readonly clock: Clock;
  readonly version: string;
}

export function forkHandlers(parts: ForkHandlerParts): Route[] {
  const { registry, settings, subscriberOf } = parts;
  const { loaded, stored } = createAccess(registry);
  const listening = createListening(registry, subscriberOf);
  const turnsOf = async (context: Context, fork: ThreadRuntime, params: Params<typeof threadFork>) => {
    if (params.excludeTurns) return NO_TURNS;
    const { store } = await stored(context, fork.threadId);
    return wholeTurns(store, fork.threadId);
  };
  const shownTo = (context: Context, fork: ThreadRuntime, { thread }: Place, turns: typeof NO_TURNS) => {
    const section = registry.sectionOf(tenantOf(context), thread.meta);
    return {
      ...adoptedView(thread.meta, fork.status, section, turns.turns),
      headSeq: thread.head,
      ...(turns.isTruncated ? { turnsTruncated: true } : {}),
    };
  };
  return implement(
    forkMethods,
    {
      threadFork: async (params, context) => {
        const { session, afterReply } = context;
        const tenant = tenantOf(context);
        checkWishes(params);
        const source = await loaded(context, params.threadId);
        const { store } = await stored(context, params.threadId);
        const adopted = await settingsAfter(source.meta.settings, params, session, settings);
        const own = await ownServersOf(params, session.client, settings, adopted.cwd);
        const at = await placeOf(params, source, store);
        const meta = forkedMeta(params, source.meta, adopted, session, parts);
        const fork = await registry.fork(tenant, params.threadId, at, meta, context.once({ thread: { id: meta.id } }));
        await giveOwn(fork, session.client, own);
        if (!params.excludeTurns) tellOfPages(session, meta);
        const read = () => turnsOf(context, fork, params);
        const { shown, subscription } = await listening.joinAfter(session, fork, undefined, read);
        afterReply(() => {
          registry.tell(tenant, meta.id, ['started']);
          subscription.start();
        });
        return shownTo(context, fork, subscription, shown);
      },
    },
    {
      // The turns of a fork are more than is kept for a repeated request: it is shown as it is now.
      threadFork: async (reply: { readonly thread: { readonly id: ThreadId } }, params, context) => {
        const { id } = reply.thread;
        const again = await listening.rejoin(context, id, (fork) => turnsOf(context, fork, params));
        if (!again) throw noSuchThread(id);
        return shownTo(context, again.runtime, again.place, again.shown);
      },
    },
  );
}

const NO_TURNS: Awaited<ReturnType<typeof wholeTurns>> = { turns: [], isTruncated: false };

function checkWishes(params: Params<typeof threadFork>): void {
  const { threadId } = params;
  if (params.path)
    throw new AppError('unsupported', 'thread/fork takes a threadId; path is not supported', { threadId });
  if (params.lastTurnId && params.beforeTurnId) {
    throw new AppError('invalid', '`beforeTurnId` cannot be combined with `lastTurnId`', { threadId });
  }
  if (params.ephemeral && !params.excludeTurns) {
    throw new AppError('invalid', 'ephemeral paginated thread/fork requires `excludeTurns: true`', { threadId });
  }
}

/** The last event of the source that the fork begins with. */
async function placeOf(params: Params<typeof threadFork>, source: ThreadRuntime, store: ThreadStore): Promise<Seq> {
  const { threadId, lastTurnId, beforeTurnId } = params;
  const turnId = lastTurnId ?? beforeTurnId;
  if (!turnId) return source.place().thread.head;
  const row = await store.turn(threadId, turnId);
  if (!row) throw new AppError('notFound', `turn not found: ${turnId}`, { threadId, turnId });
  if (beforeTurnId) return row.seq - 1;
  if (row.status === 'inProgress') {
    throw new AppError('conflict', `lastTurnId '${turnId}' identifies an in-progress turn`, { threadId, turnId });
  }
  const from = { key: row.seq, inclusive: false };
  const [next] = (await store.turns(threadId, { direction: 'asc', limit: 1, from })).rows;
  return next ? next.seq - 1 : source.place().thread.head;
}

/** The row of the fork before any turn: those that are copied are counted by the store. */
function forkedMeta(
  params: Params<typeof threadFork>,
  source: ThreadMeta,
  settings: ThreadSettings,
  session: Session,
  parts: ForkHandlerParts,
): ThreadMeta {
  const id = params.newThreadId ? chosenId('newThreadId', params.newThreadId) : newId();
  const { clock, version } = parts;
  return {
    ...newMeta({ id, atMs: clock.now(), settings, session, version }),
    name: source.name,
    title: params.title ?? null,
    metadata: params.metadata ?? null,
    serviceName: source.serviceName,
    forkedFromId: source.id,
    ephemeral: params.ephemeral ?? false,
    historyMode: source.historyMode,
    threadSource: params.threadSource ?? null,
    gitInfo: source.gitInfo,
  };
}
