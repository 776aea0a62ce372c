// The list of threads: an index for each sort order over those that are listed, and for each filter.

import type { ThreadId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { isListed } from './catalogue-row.ts';
import { after, below, beyond, type Key, type KeyRange, type Keys, SORT_KEYS } from './keys.ts';
import { breathe, type Row, type Rows } from './rows.ts';
import { candidates, noteText, searchText } from './search-index.ts';
import type { Direction, From, ThreadPage, ThreadPlace, ThreadQuery, ThreadSortKey, TimeSortKey } from './store.ts';

/** Rows looked at before other work gets its turn. */
const STEP = 250;
/** Rows looked at by one page. */
const LOOKED_AT = 2000;
/** Up to so many threads are looked at one by one rather than in the order of the list. */
const FEW = 500;

const ALL_SORT_KEYS: readonly ThreadSortKey[] = [...SORT_KEYS, 'sectionPosition'];

/** What a thread is sorted by. */
export function sortValue(meta: ThreadMeta, sort: ThreadSortKey): number | string {
  switch (sort) {
    case 'createdAt':
      return meta.createdAtMs;
    case 'updatedAt':
      return meta.updatedAtMs;
    case 'recencyAt':
      return meta.recencyAtMs;
    case 'sectionPosition':
      return meta.section?.position ?? '';
  }
}

/** Inside a transaction: moves the thread's entries from where `before` had them to where `after` has them. */
export function moveListed(
  rows: Rows,
  keys: Keys,
  before: ThreadMeta | undefined,
  after: ThreadMeta | undefined,
): void {
  noteText(rows, keys, before, after);
  for (const sort of ALL_SORT_KEYS) {
    // Most changes of a turn are of no more than the time of the last work.
    if (before !== undefined && after !== undefined && haveSamePlaces(before, after, sort)) continue;
    const [old, now] = [placesOf(keys, before, sort), placesOf(keys, after, sort)];
    for (let index = 0; index < Math.max(old.length, now.length); index += 1) {
      const [from, to] = [old[index], now[index]];
      if (from !== undefined && to !== undefined && samePlace(from, to)) continue;
      if (from !== undefined) rows.remove(from);
      if (after !== undefined && to !== undefined) rows.put(to, after.id);
    }
  }
}

/** Whether a thread that is to be listed has its place in the list. */
export const isEntered = (rows: Rows, keys: Keys, meta: ThreadMeta): boolean =>
  rows.scan({ ...below(keys.listed(meta.archived, 'createdAt', meta.createdAtMs, meta.id)), limit: 1 }).length > 0;

/** Inside a transaction: puts a thread where it belongs, whether it is there or not. */
export function enterListed(rows: Rows, keys: Keys, meta: ThreadMeta): void {
  for (const place of ALL_SORT_KEYS.flatMap((sort) => placesOf(keys, meta, sort))) rows.put(place, meta.id);
}

/** Of one thread. */
const haveSamePlaces = (a: ThreadMeta, b: ThreadMeta, sort: ThreadSortKey): boolean =>
  sortValue(a, sort) === sortValue(b, sort) &&
  isListed(a) === isListed(b) &&
  a.archived === b.archived &&
  a.settings.cwd === b.settings.cwd &&
  a.settings.modelProvider === b.settings.modelProvider &&
  a.section?.id === b.section?.id;

function placesOf(keys: Keys, meta: ThreadMeta | undefined, sort: ThreadSortKey): Key[] {
  if (meta === undefined) return [];
  const { archived, settings, section, id } = meta;
  const ms = sortValue(meta, sort);
  const inSection = section === null ? [] : [keys.ofSection(archived, sort, section.id, ms, id)];
  // Whatever is in a section has a place there, listed or not.
  if (sort === 'sectionPosition') return inSection;
  if (!isListed(meta)) return [];
  return [
    keys.listed(archived, sort, ms, id),
    keys.ofCwd(archived, sort, settings.cwd, ms, id),
    keys.ofProvider(archived, sort, settings.modelProvider, ms, id),
    ...inSection,
  ];
}

const samePlace = (a: Key, b: Key): boolean =>
  a.length === b.length && a.every((element, index) => element === b[index]);

/** `metaOf` gives the row of a thread; a thread that has gone meanwhile is passed over. */
export async function listThreads(
  rows: Rows,
  keys: Keys,
  query: ThreadQuery,
  metaOf: (id: ThreadId) => ThreadMeta | undefined,
  isSection: (id: string) => boolean,
): Promise<ThreadPage> {
  const fits = filterOf(query, isSection);
  const few = query.includedIds ?? fewOf(rows, keys, query);
  if (few !== undefined) return listIncluded(query, few, metaOf, fits);
  const walk = mergedWalk(rows, drivingPrefixes(rows, keys, query), query);
  const found: ThreadMeta[] = [];
  let looked = 0;
  for (let place = walk(); place !== undefined; place = walk()) {
    const meta = metaOf(place.id);
    // An entry that was left behind is not the thread's place.
    if (meta !== undefined && sortValue(meta, query.sortKey) === place.ms && fits(meta)) {
      if (found.length === query.limit) return { rows: found, hasMore: true };
      found.push(meta);
    }
    looked += 1;
    if (looked === LOOKED_AT) return { rows: found, hasMore: true, next: place };
    if (looked % STEP === 0) await breathe();
  }
  return { rows: found, hasMore: false };
}

function fewOf(rows: Rows, keys: Keys, { searchTerm }: ThreadQuery): ThreadId[] | undefined {
  return searchTerm === undefined ? undefined : candidates(rows, keys, searchTerm.toLowerCase(), FEW);
}

/** Steps through the threads of the list, in the order of the query; what was moved or removed meanwhile may be among them. */
export const walkListed = (
  rows: Rows,
  keys: Keys,
  query: Pick<ThreadQuery, 'archived' | 'sortKey' | 'direction' | 'limit' | 'from'>,
): (() => ThreadPlace | undefined) =>
  mergedWalk(rows, [keys.listed(query.archived, query.sortKey as TimeSortKey)], { ...query, limit: STEP });

/** The index in which the fewest threads have to be looked at, as beginnings of its keys. */
function drivingPrefixes(rows: Rows, keys: Keys, query: ThreadQuery): Key[] {
  const { archived, sortKey, sectionId } = query;
  if (typeof sectionId === 'string') return [keys.ofSection(archived, sortKey, sectionId)];
  if (sortKey === 'sectionPosition') return [];
  const cwds = query.cwds && [...new Set(query.cwds)].map((cwd) => keys.ofCwd(archived, sortKey, cwd));
  const providers =
    query.modelProviders &&
    [...new Set(query.modelProviders)].map((provider) => keys.ofProvider(archived, sortKey, provider));
  if (cwds && providers) return sizeOf(rows, cwds) <= sizeOf(rows, providers) ? cwds : providers;
  return cwds ?? providers ?? [keys.listed(archived, sortKey)];
}

/** Up to `FEW`. */
function sizeOf(rows: Rows, prefixes: readonly Key[]): number {
  let size = 0;
  for (const prefix of prefixes) {
    size += rows.scan({ ...below(prefix), limit: FEW - size }).length;
    if (size >= FEW) break;
  }
  return size;
}

/** Steps through several indexes at once, in the order of the query. */
function mergedWalk(rows: Rows, prefixes: readonly Key[], query: ThreadQuery): () => ThreadPlace | undefined {
  const reverse = query.direction === 'desc';
  const size = Math.max(8, Math.ceil(Math.min(STEP, query.limit + 1) / prefixes.length));
  const lanes = prefixes.map((prefix) => lane(rows, rangeOf(prefix, query), reverse, size));
  return () => {
    let first: (typeof lanes)[number] | undefined;
    for (const each of lanes) {
      const place = each.peek();
      if (place === undefined) continue;
      const best = first?.peek();
      if (best === undefined || (reverse ? byPlace(place, best) > 0 : byPlace(place, best) < 0)) first = each;
    }
    return first?.take();
  };
}

function lane(rows: Rows, whole: KeyRange, reverse: boolean, size: number) {
  let range = whole;
  let step: Row[] = [];
  let index = 0;
  let isOver = false;
  const peek = (): ThreadPlace | undefined => {
    if (index === step.length && !isOver) {
      step = rows.scan({ ...range, reverse, limit: size });
      index = 0;
      isOver = step.length < size;
      const last = step.at(-1);
      if (last !== undefined) range = beyond(range, last.key, reverse);
    }
    const row = step[index];
    return row && { ms: row.key.at(-2) as number | string, id: row.key.at(-1) as string };
  };
  return {
    peek,
    take(): ThreadPlace | undefined {
      const place = peek();
      index += 1;
      return place;
    },
  };
}

const order = (a: number | string, b: number | string): number => (a < b ? -1 : a > b ? 1 : 0);
export const byPlace = (a: ThreadPlace, b: ThreadPlace): number => order(a.ms, b.ms) || order(a.id, b.id);

/** Whether the place belongs to what a page that begins at `from` may show. */
export function isBehind(place: ThreadPlace, from: From<ThreadPlace>, direction: Direction): boolean {
  const order = byPlace(place, from.key) * (direction === 'asc' ? 1 : -1);
  return order > (from.inclusive ? -1 : 0);
}

function rangeOf(prefix: Key, { direction, from }: ThreadQuery): KeyRange {
  const all = below(prefix);
  if (from === undefined) return all;
  const key = [...prefix, from.key.ms, from.key.id];
  if (direction === 'asc') return { ...all, from: from.inclusive ? key : after(key) };
  return { ...all, to: from.inclusive ? after(key) : key };
}

function filterOf(query: ThreadQuery, isSection: (id: string) => boolean): (meta: ThreadMeta) => boolean {
  const sectionOf = ({ section }: ThreadMeta) => (section !== null && isSection(section.id) ? section.id : null);
  const excluded = new Set(query.excludedIds);
  const term = query.searchTerm?.toLowerCase();
  return (meta) =>
    meta.archived === query.archived &&
    isListed(meta) &&
    !excluded.has(meta.id) &&
    (query.cwds === undefined || query.cwds.includes(meta.settings.cwd)) &&
    (query.modelProviders === undefined || query.modelProviders.includes(meta.settings.modelProvider)) &&
    (query.sectionId === undefined || sectionOf(meta) === query.sectionId) &&
    (term === undefined || searchText(meta).includes(term));
}

function listIncluded(
  query: ThreadQuery,
  ids: readonly ThreadId[],
  metaOf: (id: ThreadId) => ThreadMeta | undefined,
  fits: (meta: ThreadMeta) => boolean,
): ThreadPage {
  const { sortKey, from } = query;
  const sign = query.direction === 'asc' ? 1 : -1;
  const inOrder = (a: ThreadPlace, b: ThreadPlace) => sign * byPlace(a, b);
  const place = (meta: ThreadMeta): ThreadPlace => ({ ms: sortValue(meta, sortKey), id: meta.id });
  const found = [...new Set(ids)]
    .map(metaOf)
    .filter((meta) => meta !== undefined)
    .filter(fits)
    .filter((meta) => from === undefined || isBehind(place(meta), from, query.direction))
    .sort((a, b) => inOrder(place(a), place(b)));
  return { rows: found.slice(0, query.limit), hasMore: found.length > query.limit };
}
