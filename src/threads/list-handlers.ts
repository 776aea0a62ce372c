// Pages of threads, turns and items.

import { AppError } from '../base/errors.ts';
import { pageOf } from '../base/page.ts';
import type { ThreadSortKey } from '../history/store.ts';
import type { Thread, ThreadStatus } from '../model/thread.ts';
import type { Params } from '../rpc/declare.ts';
import { type Context, implement, type Route } from '../rpc/router.ts';
import { createAccess } from './access.ts';
import { listMethods, type threadList } from './list-methods.ts';
import { itemsPage, threadsPage, turnsPage } from './pages.ts';
import type { ThreadRegistry } from './registry.ts';
import { threadView } from './view.ts';

export const SORT_KEYS = {
  created_at: 'createdAt',
  updated_at: 'updatedAt',
  recency_at: 'recencyAt',
  section_position: 'sectionPosition',
} as const satisfies Record<string, ThreadSortKey>;

/** Where our threads come from, as the reference calls it. */
const OUR_SOURCE = 'vscode';

export function listHandlers(registry: ThreadRegistry): Route[] {
  const { stored } = createAccess(registry);
  const storeOf = async (context: Context, threadId: string) => (await stored(context, threadId)).store;
  const statusOf = (tenant: string, id: string): ThreadStatus =>
    registry.find(tenant, id)?.status ?? { type: 'notLoaded' };

  return implement(listMethods, {
    threadList: async (params, { session }) => {
      const { tenant } = session.principal;
      if (isEmpty(params)) return { data: [], readStates: {}, nextCursor: null, backwardsCursor: null };
      const page = await threadsPage(registry.store(tenant), filterOf(params), params);
      return {
        ...page,
        data: page.data.map((meta) =>
          listed(threadView(meta, statusOf(tenant, meta.id), registry.sectionOf(tenant, meta))),
        ),
        readStates: Object.fromEntries(page.data.map((meta) => [meta.id, meta.readState])),
      };
    },
    threadLoadedList: async (params, { session }) => {
      const { data, nextCursor } = pageOf(registry.loaded(session.principal.tenant), params, {
        scope: ['thread/loaded/list'],
        keyOf: ({ id }) => id,
        orderOf: ({ order }) => order,
      });
      return { data: data.map(({ id }) => id), nextCursor };
    },
    threadTurnsList: async (params, context) =>
      turnsPage(await storeOf(context, params.threadId), params.threadId, params),
    threadItemsList: async (params, context) =>
      itemsPage(await storeOf(context, params.threadId), params.threadId, params),
  });
}

/** A row of a list says nothing of input: that is for whoever opens the thread. */
export const listed = (thread: Thread): Thread => ({ ...thread, canAcceptDirectInput: null });

function filterOf(params: Params<typeof threadList>) {
  if (params.originators) throw new AppError('invalid', 'filtering by originators is not supported');
  if (params.sortKey === 'section_position' && !params.sectionId)
    throw new AppError('invalid', 'section-position sorting requires a section filter');
  const cwds = typeof params.cwd === 'string' ? [params.cwd] : params.cwd;
  return {
    archived: params.archived ?? false,
    sortKey: SORT_KEYS[params.sortKey ?? 'created_at'],
    direction: params.sortDirection ?? (params.sortKey === 'section_position' ? ('asc' as const) : ('desc' as const)),
    ...(cwds ? { cwds } : {}),
    ...(params.modelProviders?.length ? { modelProviders: params.modelProviders } : {}),
    ...(params.sectionId === undefined ? {} : { sectionId: params.sectionId }),
    ...(params.searchTerm ? { searchTerm: params.searchTerm } : {}),
    ...(params.includedThreadIds ? { includedIds: params.includedThreadIds } : {}),
    ...(params.excludedThreadIds?.length ? { excludedIds: params.excludedThreadIds } : {}),
  };
}

/** Filters that no thread of ours can pass: there are no projects, sub-agents or attached threads. */
function isEmpty(params: Params<typeof threadList>): boolean {
  if (params.projectId || params.parentThreadId || params.ancestorThreadId || params.attachedToThreadId) return true;
  return !isOurSource(params.sourceKinds);
}

/** Whether the kinds that are asked for have ours among them; none stand for all. */
export const isOurSource = (kinds: readonly string[] | null | undefined): boolean =>
  !kinds || kinds.length === 0 || kinds.includes(OUR_SOURCE);
