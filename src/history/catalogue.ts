// The list of threads: an index for each sort order over those that are listed.

import type { ThreadId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { after, below, beyond, type Key, type KeyRange, type Keys, SORT_KEYS } from './keys.ts';
import { breathe, type Rows } from './rows.ts';
import type { Page, ThreadQuery, ThreadSortKey } from './store.ts';
import { isListed } from './tables.ts';

/** Rows looked at before other work gets its turn. */
const STEP = 500;

const sortValue = (meta: ThreadMeta, sort: ThreadSortKey): number =>
  sort === 'createdAt' ? meta.createdAtMs : sort === 'updatedAt' ? meta.updatedAtMs : meta.recencyAtMs;

/** Inside a transaction: moves the thread's entries from where `before` had them to where `after` has them. */
export function moveListed(
  rows: Rows,
  keys: Keys,
  before: ThreadMeta | undefined,
  after: ThreadMeta | undefined,
): void {
  for (const sort of SORT_KEYS) {
    const [old, place] = [placeOf(keys, before, sort), placeOf(keys, after, sort)];
    if (old !== undefined && place !== undefined && samePlace(old, place)) continue;
    if (old !== undefined) rows.remove(old);
    if (after !== undefined && place !== undefined) rows.put(place, after.id);
  }
}

function placeOf(keys: Keys, meta: ThreadMeta | undefined, sort: ThreadSortKey): Key | undefined {
  if (meta === undefined || !isListed(meta)) return undefined;
  return keys.listed(meta.archived, sort, sortValue(meta, sort), meta.id);
}

const samePlace = (a: Key, b: Key): boolean => a.every((element, index) => element === b[index]);

/** `metaOf` gives the row of a thread; a thread that has gone meanwhile is passed over. */
export async function listThreads(
  rows: Rows,
  keys: Keys,
  query: ThreadQuery,
  metaOf: (id: ThreadId) => ThreadMeta | undefined,
): Promise<Page<ThreadMeta>> {
  const fits = filterOf(query);
  if (query.includedIds !== undefined) return listIncluded(query, query.includedIds, metaOf, fits);
  const found: ThreadMeta[] = [];
  const reverse = query.direction === 'desc';
  let range = rangeOf(keys, query);
  for (;;) {
    const step = rows.scan({ ...range, reverse, limit: STEP });
    for (const { text } of step) {
      const meta = metaOf(text);
      if (meta === undefined || !fits(meta)) continue;
      if (found.length === query.limit) return { rows: found, hasMore: true };
      found.push(meta);
    }
    const last = step.at(-1);
    if (last === undefined || step.length < STEP) return { rows: found, hasMore: false };
    range = beyond(range, last.key, reverse);
    await breathe();
  }
}

function rangeOf(keys: Keys, { archived, sortKey, direction, from }: ThreadQuery): KeyRange {
  const all = below(keys.listed(archived, sortKey));
  if (from === undefined) return all;
  const key = keys.listed(archived, sortKey, from.key.ms, from.key.id);
  if (direction === 'asc') return { ...all, from: from.inclusive ? key : after(key) };
  return { ...all, to: from.inclusive ? after(key) : key };
}

function filterOf(query: ThreadQuery): (meta: ThreadMeta) => boolean {
  const excluded = new Set(query.excludedIds);
  const term = query.searchTerm?.toLowerCase();
  return (meta) =>
    meta.archived === query.archived &&
    isListed(meta) &&
    !excluded.has(meta.id) &&
    (query.cwds === undefined || query.cwds.includes(meta.settings.cwd)) &&
    (query.modelProviders === undefined || query.modelProviders.includes(meta.settings.modelProvider)) &&
    (term === undefined ||
      meta.preview.toLowerCase().includes(term) ||
      (meta.name?.toLowerCase().includes(term) ?? false));
}

function listIncluded(
  query: ThreadQuery,
  ids: readonly ThreadId[],
  metaOf: (id: ThreadId) => ThreadMeta | undefined,
  fits: (meta: ThreadMeta) => boolean,
): Page<ThreadMeta> {
  const { sortKey, from } = query;
  const sign = query.direction === 'asc' ? 1 : -1;
  const order = (a: Place, b: Place) => sign * (a.ms - b.ms || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const place = (meta: ThreadMeta): Place => ({ ms: sortValue(meta, sortKey), id: meta.id });
  const found = [...new Set(ids)]
    .map(metaOf)
    .filter((meta) => meta !== undefined)
    .filter(fits)
    .filter((meta) => from === undefined || order(place(meta), from.key) > (from.inclusive ? -1 : 0))
    .sort((a, b) => order(place(a), place(b)));
  return { rows: found.slice(0, query.limit), hasMore: found.length > query.limit };
}

interface Place {
  readonly ms: number;
  readonly id: ThreadId;
}
