// Pages of turns, items and threads, as clients see them; a page that would be too large for a frame ends early.

import { AppError } from '../base/errors.ts';
import { sortValue } from '../history/catalogue.ts';
import { breathe } from '../history/rows.ts';
import type { Direction, From, ItemRow, Page, ThreadQuery, ThreadStore, TurnRow } from '../history/store.ts';
import type { Seq } from '../model/ids.ts';
import type { Item } from '../model/item.ts';
import type { ItemsView, Turn } from '../model/turn.ts';
import { decodeCursor, encodeCursor, isSeq, isThreadKey, type ThreadKey } from './cursors.ts';
import { turnView } from './view.ts';

export interface PageRequest {
  readonly cursor?: string | null | undefined;
  readonly limit?: number | null | undefined;
  readonly sortDirection?: Direction | null | undefined;
}

export interface WirePage<T> {
  readonly data: T[];
  readonly nextCursor: string | null;
  readonly backwardsCursor: string | null;
}

const DEFAULT_LIMIT = 25;
const MAX_LIMIT = 100;
const MAX_ITEMS = 500;
/** Bytes of JSON after which a page ends; two of them and a thread fit into the largest frame. */
const MAX_PAGE_BYTES = 6 * 1024 * 1024;
/** The same for turns that nobody asked to have in pages: clients wait for them before they show anything. */
const MAX_WHOLE_BYTES = 2 * 1024 * 1024;

/** Time after which others get their turn while many turns are read. */
const SLICE_MS = 3;

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** What is shown, and how many bytes of JSON it takes: writing it out is dear, and is done once. */
interface Sized<T> {
  readonly shown: T;
  readonly bytes: number;
}

const sized = <T>(shown: T): Sized<T> => ({ shown, bytes: bytesOf(shown) });

export const limitOf = (limit: number | null | undefined, most: number): number =>
  limit === null || limit === undefined ? Math.min(DEFAULT_LIMIT, most) : Math.min(Math.max(limit, 1), most);

export async function turnsPage(
  store: ThreadStore,
  threadId: string,
  request: PageRequest & { itemsView?: ItemsView | null | undefined },
): Promise<WirePage<Turn>> {
  const scope = ['thread/turns/list', threadId];
  const direction = request.sortDirection ?? 'desc';
  const from = request.cursor ? { from: decodeCursor(scope, request.cursor, isSeq) } : {};
  const page = await store.turns(threadId, { direction, limit: limitOf(request.limit, MAX_LIMIT), ...from });
  const view = request.itemsView ?? 'summary';
  const fitted = await fitPage(page, (row) => turnWithItems(store, threadId, row, view));
  return wirePage(scope, fitted, (row) => row.seq);
}

export async function itemsPage(
  store: ThreadStore,
  threadId: string,
  request: Omit<PageRequest, 'cursor'> & {
    cursor?: string | { type: 'item'; itemId: string } | null | undefined;
    turnId?: string | null | undefined;
    deferOutput?: { commandExecution?: boolean | undefined } | null | undefined;
  },
) {
  const turn = request.turnId ? { turnId: request.turnId } : {};
  const scope = ['thread/items/list', threadId, request.turnId ?? null];
  const from = await itemStart(store, threadId, scope, request.cursor ?? undefined, request.turnId);
  const direction = request.sortDirection ?? 'asc';
  const page = await store.items(threadId, {
    direction,
    limit: limitOf(request.limit, MAX_ITEMS),
    ...turn,
    ...(from ? { from } : {}),
  });
  const defer = request.deferOutput?.commandExecution ?? false;
  const fitted = await fitPage(page, async (row) => sized(itemEntry(row, defer)));
  const shown = wirePage(scope, fitted, (row) => row.seq);
  return { ...shown, data: shown.data.filter(({ item }) => isShown(item)) };
}

async function itemStart(
  store: ThreadStore,
  threadId: string,
  scope: unknown,
  cursor: string | { type: 'item'; itemId: string } | undefined,
  turnId: string | null | undefined,
): Promise<From<number> | undefined> {
  if (cursor === undefined || cursor === '') return undefined;
  if (typeof cursor === 'string') return decodeCursor(scope, cursor, isSeq);
  if (!turnId) throw new AppError('invalid', 'turnId is required when cursor is an item anchor', { threadId });
  const row = await store.item(threadId, cursor.itemId);
  if (!row) throw new AppError('invalid', `item not found: ${cursor.itemId}`, { threadId, itemId: cursor.itemId });
  return { key: row.seq, inclusive: false };
}

/** A message that still streams is not part of the pages: it comes whole, with its end. */
const isShown = (item: Item): boolean =>
  item.completedAtMs !== null ||
  item.type === 'commandExecution' ||
  item.type === 'fileChange' ||
  item.type === 'dynamicToolCall' ||
  item.type === 'mcpToolCall';

function itemEntry({ turnId, item }: ItemRow, deferOutput: boolean) {
  const { startedAtMs, completedAtMs } = item;
  if (deferOutput && item.type === 'commandExecution' && item.aggregatedOutput !== null) {
    return { turnId, item: { ...item, aggregatedOutput: null }, outputDeferred: true, startedAtMs, completedAtMs };
  }
  return { turnId, item, startedAtMs, completedAtMs };
}

/**
 * The named items of a turn, in the order of their names, as many as a page takes and at least one; unknown ones are left out.
 * Who misses some at the end asks for them again.
 */
export async function itemEntries(store: ThreadStore, threadId: string, turnId: string, itemIds: readonly string[]) {
  const entries: ReturnType<typeof itemEntry>[] = [];
  let size = 0;
  for (const itemId of new Set(itemIds)) {
    const row = await store.item(threadId, itemId);
    if (row?.turnId !== turnId) continue;
    const { shown, bytes } = sized(itemEntry(row, false));
    size += bytes;
    if (size > MAX_PAGE_BYTES && entries.length > 0) break;
    entries.push(shown);
  }
  return entries;
}

async function turnWithItems(
  store: ThreadStore,
  threadId: string,
  row: TurnRow,
  view: ItemsView,
): Promise<Sized<Turn>> {
  switch (view) {
    case 'notLoaded':
      return sized(turnView(row, [], view));
    case 'summary': {
      const ids = [row.firstUserItemId, row.lastMessageId].filter((id) => id !== null);
      const rows = await Promise.all([...new Set(ids)].map((id) => store.item(threadId, id)));
      const items = rows.flatMap((found) => (found && isShown(found.item) ? [found.item] : []));
      const summary = sized(turnView(row, items, view));
      return summary.bytes > MAX_PAGE_BYTES ? sized(turnView(row, [], 'notLoaded')) : summary;
    }
    case 'full': {
      const items = await allItems(store, threadId, row.id);
      if (!items) return turnWithItems(store, threadId, row, 'summary');
      const head = bytesOf(turnView(row, [], view));
      return { shown: turnView(row, items.shown, view), bytes: head + items.bytes };
    }
  }
}

/** Undefined: more than a page takes; they are read with `thread/items/list`. */
async function allItems(store: ThreadStore, threadId: string, turnId: string): Promise<Sized<Item[]> | undefined> {
  const items: Item[] = [];
  let bytes = 0;
  let from: { from: From<number> } | Record<string, never> = {};
  for (;;) {
    const page = await store.items(threadId, { direction: 'asc', limit: MAX_ITEMS, turnId, ...from });
    for (const { item } of page.rows) {
      if (!isShown(item)) continue;
      bytes += bytesOf(item) + 1;
      if (bytes > MAX_PAGE_BYTES) return undefined;
      items.push(item);
    }
    const last = page.rows.at(-1);
    if (!page.hasMore || !last) return { shown: items, bytes };
    from = { from: { key: last.seq, inclusive: false } };
  }
}

/**
 * The newest turns with their items, oldest first, as many as a page takes; says whether some were left out. A turn that is too
 * large by itself has its summary.
 */
export async function wholeTurns(
  store: ThreadStore,
  threadId: string,
): Promise<{ turns: Turn[]; isTruncated: boolean }> {
  const turns: Turn[] = [];
  let size = 0;
  let end = performance.now() + SLICE_MS;
  let from: { from: From<number> } | Record<string, never> = {};
  for (;;) {
    const page = await store.turns(threadId, { direction: 'desc', limit: MAX_LIMIT, ...from });
    for (const row of page.rows) {
      if (performance.now() > end) {
        await breathe();
        end = performance.now() + SLICE_MS;
      }
      const { shown, bytes } = await turnWithItems(store, threadId, row, 'full');
      size += bytes;
      if (size > MAX_WHOLE_BYTES && turns.length > 0) return { turns: turns.reverse(), isTruncated: true };
      turns.push(shown);
    }
    const last = page.rows.at(-1);
    if (!page.hasMore || !last) return { turns: turns.reverse(), isTruncated: false };
    from = { from: { key: last.seq, inclusive: false } };
  }
}

/** Cursors that begin, newest first, at the newest turn and item, or the newest before a place; null when there is none. */
export async function newestCursors(store: ThreadStore, threadId: string, before?: Seq) {
  const from = before === undefined ? {} : { from: { key: before, inclusive: false } };
  const newest = { direction: 'desc' as const, limit: 1, ...from };
  const [turns, items] = await Promise.all([store.turns(threadId, newest), store.items(threadId, newest)]);
  const cursor = (scope: unknown, row: { seq: number } | undefined) =>
    row ? encodeCursor(scope, { key: row.seq, inclusive: true }) : null;
  return {
    turnsBackwardsCursor: cursor(['thread/turns/list', threadId], turns.rows[0]),
    itemsBackwardsCursor: cursor(['thread/items/list', threadId, null], items.rows[0]),
  };
}

export async function threadsPage(
  store: ThreadStore,
  filter: Omit<ThreadQuery, 'limit' | 'from'>,
  request: PageRequest,
) {
  const { direction: _direction, ...bound } = filter;
  const scope = ['thread/list', bound];
  const from = request.cursor ? { from: decodeCursor<ThreadKey>(scope, request.cursor, isThreadKey) } : {};
  const page = await store.threads({ ...filter, limit: limitOf(request.limit, MAX_LIMIT), ...from });
  const fitted = await fitPage(page, async (meta) => sized(meta));
  const shown = wirePage(
    scope,
    fitted,
    (meta): ThreadKey => ({ ms: sortValue(meta, filter.sortKey), id: meta.id }),
    false,
  );
  // A page of few or no rows that looked at as many as it may: the next one goes on behind them.
  const partial = page.isPartial ? { partial: true } : {};
  if (page.next === undefined || fitted.rows.length < page.rows.length) return { ...shown, ...partial };
  return { ...shown, ...partial, nextCursor: encodeCursor<ThreadKey>(scope, { key: page.next, inclusive: false }) };
}

interface Fitted<R, T> {
  readonly rows: readonly R[];
  readonly shown: readonly T[];
  readonly hasMore: boolean;
}

async function fitPage<R, T>(page: Page<R>, show: (row: R) => Promise<Sized<T>>): Promise<Fitted<R, T>> {
  const shown: T[] = [];
  let size = 0;
  for (const row of page.rows) {
    const { shown: each, bytes } = await show(row);
    size += bytes;
    if (size > MAX_PAGE_BYTES && shown.length > 0)
      return { rows: page.rows.slice(0, shown.length), shown, hasMore: true };
    shown.push(each);
  }
  return { rows: page.rows, shown, hasMore: page.hasMore };
}

/** Read the other way, turns and items begin with the page's first row, threads behind it: as in the reference. */
function wirePage<R, T, K>(
  scope: unknown,
  page: Fitted<R, T>,
  keyOf: (row: R) => K,
  backInclusive = true,
): WirePage<T> {
  const first = page.rows[0];
  const last = page.rows.at(-1);
  return {
    data: [...page.shown],
    nextCursor: page.hasMore && last !== undefined ? encodeCursor(scope, { key: keyOf(last), inclusive: false }) : null,
    backwardsCursor: first === undefined ? null : encodeCursor(scope, { key: keyOf(first), inclusive: backInclusive }),
  };
}
