// Finding what was said: in which threads, and where in one.

import { AppError } from '../base/errors.ts';
import { sortValue } from '../history/catalogue.ts';
import type { OccurrencePlace, SearchQuery } from '../history/store.ts';
import type { Params } from '../rpc/declare.ts';
import { implement, type Route } from '../rpc/router.ts';
import { createAccess, NOT_LOADED, tenantOf } from './access.ts';
import { decodeCursor, encodeCursor, isSeq, isThreadKey, type ThreadKey } from './cursors.ts';
import { isOurSource, listed, SORT_KEYS } from './list-handlers.ts';
import { limitOf } from './pages.ts';
import type { ThreadRegistry } from './registry.ts';
import { searchMethods, type threadSearch } from './search-methods.ts';
import { threadView } from './view.ts';

const MAX_PAGE = 100;

export function searchHandlers(registry: ThreadRegistry): Route[] {
  const { stored } = createAccess(registry);
  return implement(searchMethods, {
    threadSearch: async (params, context) => {
      const tenant = tenantOf(context);
      const filter = filterOf(params);
      if (!isOurSource(params.sourceKinds)) return { data: [], nextCursor: null, backwardsCursor: null };
      const { direction: _direction, ...bound } = filter;
      const scope = ['thread/search', bound];
      const from = params.cursor ? { from: decodeCursor<ThreadKey>(scope, params.cursor, isThreadKey) } : {};
      const page = await registry.store(tenant).search({ ...filter, limit: limitOf(params.limit, MAX_PAGE), ...from });
      const places = page.rows.map(({ meta }): ThreadKey => ({ ms: sortValue(meta, filter.sortKey), id: meta.id }));
      const next = page.hasMore ? (page.next ?? places.at(-1)) : undefined;
      const cursorAt = (place: ThreadKey | undefined) =>
        place ? encodeCursor<ThreadKey>(scope, { key: place, inclusive: false }) : null;
      return {
        data: page.rows.map(({ meta, snippet }) => {
          const status = registry.find(tenant, meta.id)?.status ?? NOT_LOADED;
          return { thread: listed(threadView(meta, status, registry.sectionOf(tenant, meta))), snippet: snippet.text };
        }),
        nextCursor: cursorAt(next),
        backwardsCursor: cursorAt(places[0]),
      };
    },

    threadSearchOccurrences: async (params, context) => {
      const { threadId } = params;
      const term = termOf(params.searchTerm);
      const { store } = await stored(context, threadId);
      const scope = ['thread/searchOccurrences', threadId, term];
      const page = await store.occurrences(threadId, {
        term,
        limit: limitOf(params.limit, MAX_PAGE),
        ...(params.cursor ? { after: decodeCursor(scope, params.cursor, isPlace).key } : {}),
      });
      const last = page.rows.at(-1);
      const next = page.hasMore ? (page.next ?? (last && { seq: last.seq, index: last.index })) : undefined;
      return {
        data: page.rows.map(({ turnId, itemId, snippet: { text, start, end }, turnSeq }) => ({
          turnId,
          itemId,
          snippet: text,
          snippetMatchRange: { start, end },
          turnCursor: encodeCursor(['thread/turns/list', threadId], { key: turnSeq, inclusive: true }),
        })),
        nextCursor: next ? encodeCursor<OccurrencePlace>(scope, { key: next, inclusive: false }) : null,
      };
    },
  });
}

function isPlace(key: unknown): key is OccurrencePlace {
  const { seq, index } = (key ?? {}) as Partial<OccurrencePlace>;
  return isSeq(seq) && isSeq(index);
}

function termOf(given: string): string {
  const term = given.trim();
  if (term === '') throw new AppError('invalid', 'searchTerm must not be empty');
  return term;
}

function filterOf(params: Params<typeof threadSearch>): Omit<SearchQuery, 'limit' | 'from'> {
  return {
    term: termOf(params.searchTerm),
    archived: params.archived ?? false,
    sortKey: SORT_KEYS[params.sortKey ?? 'created_at'],
    direction: params.sortDirection ?? 'desc',
  };
}
