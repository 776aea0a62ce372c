// Threads in which a text was said, or that are called so: found by their words, and checked against what is there.

import type { Seq, ThreadId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { byPlace, isBehind, sortValue, walkListed } from './catalogue.ts';
import { isListed } from './catalogue-row.ts';
import { spared } from './checksum.ts';
import { firstMatch, type Pattern, patternOf, type Snippet, snippetOf, wordPatternOf } from './matches.ts';
import { messagesOf } from './messages.ts';
import { documentsWith } from './postings.ts';
import type { Source } from './reader.ts';
import { breathe } from './rows.ts';
import { candidates, textsOf } from './search-index.ts';
import type { SearchPage, SearchQuery, ThreadPlace } from './store.ts';
import { type Document, documentsOf, unentered } from './word-documents.ts';
import { wantedOf } from './words.ts';

/** Up to so many threads are looked at one by one rather than in the order of the list. */
const FEW = 500;
/** Rows of one word that are read; a word with more says too little. */
const ROWS_OF_WORD = 400;
/** Threads, and documents, looked at by one page. */
const LOOKED_AT = 1000;
const DOCUMENTS = 150;
/** Messages looked at by one page that are not in the index yet. */
const FRESH_MESSAGES = 5000;
/** Threads looked at before other work gets its turn. */
const STEP = 100;

/** `metaOf` gives the row of a thread; a thread that has gone meanwhile is passed over. */
export async function searchThreads(
  source: Source,
  query: SearchQuery,
  metaOf: (id: ThreadId) => ThreadMeta | undefined,
): Promise<SearchPage> {
  // In this order: what is entered meanwhile is in both.
  const fresh = unentered(source);
  const found = numbersFor(source, query.term);
  const titled = candidates(source.rows, source.keys, query.term.toLowerCase(), FEW);
  const places =
    found !== undefined && found.size <= FEW && titled !== undefined
      ? fewPlaces(source, [...found], [...titled, ...fresh.keys()], query, metaOf)
      : walkListed(source.rows, source.keys, query);
  return new Search(source, query, { numbers: found, titled: titled && new Set(titled), fresh }, metaOf).page(places);
}

interface Candidates {
  /** Documents among which are all that have the term; undefined: its words are everywhere. */
  readonly numbers: ReadonlySet<number> | undefined;
  /** Threads among which are all that have it in preview, name or title; undefined: these may be many. */
  readonly titled: ReadonlySet<ThreadId> | undefined;
  /** What is not in the index yet. */
  readonly fresh: ReadonlyMap<ThreadId, Stretch>;
}

/** Messages of a thread. */
interface Stretch extends Pick<Document, 'from' | 'to'> {
  /** Of its document; absent: it is not in the index yet. */
  readonly n?: number;
}

class Search {
  readonly #source: Source;
  readonly #query: SearchQuery;
  readonly #candidates: Candidates;
  readonly #metaOf: (id: ThreadId) => ThreadMeta | undefined;
  readonly #pattern: Pattern;
  readonly #wordPattern: Pattern;
  #documents = 0;
  #freshMessages = 0;

  constructor(
    source: Source,
    query: SearchQuery,
    candidates: Candidates,
    metaOf: (id: ThreadId) => ThreadMeta | undefined,
  ) {
    this.#source = source;
    this.#query = query;
    this.#candidates = candidates;
    this.#metaOf = metaOf;
    this.#pattern = patternOf(query.term);
    this.#wordPattern = wordPatternOf(query.term);
  }

  async page(next: () => ThreadPlace | undefined): Promise<SearchPage> {
    const { limit, archived, sortKey } = this.#query;
    const rows: { meta: ThreadMeta; snippet: Snippet }[] = [];
    let looked = 0;
    for (let place = next(); place !== undefined; place = next()) {
      const documents = this.#documentsOf(place.id);
      const meta = documents === undefined ? undefined : this.#metaOf(place.id);
      const isHere = meta !== undefined && meta.archived === archived && sortValue(meta, sortKey) === place.ms;
      const snippet = isHere
        ? ((await this.#inTitle(meta)) ?? (await this.#inMessages(meta.id, documents ?? [])))
        : undefined;
      if (meta !== undefined && snippet !== undefined) {
        if (rows.length === limit) return { rows, hasMore: true };
        rows.push({ meta, snippet });
      }
      looked += 1;
      if (looked >= LOOKED_AT || this.#documents >= DOCUMENTS) return { rows, hasMore: true, next: place };
      if (looked % STEP === 0) await breathe();
    }
    return { rows, hasMore: false };
  }

  #inTitle(meta: ThreadMeta): Snippet | undefined {
    for (const text of textsOf(meta)) {
      const match = firstMatch(text, this.#pattern);
      if (match !== undefined) return snippetOf(text, match);
    }
    return undefined;
  }

  /** Where in the thread the term may be; undefined: nowhere. */
  #documentsOf(id: ThreadId): readonly Stretch[] | undefined {
    const { numbers, titled, fresh } = this.#candidates;
    const all = documentsOf(this.#source, id);
    const isNew = fresh.get(id);
    const some: Stretch[] = numbers === undefined ? all : all.filter(({ n }) => numbers.has(n));
    if (isNew !== undefined) some.push(isNew);
    if (numbers === undefined) return some;
    return some.length > 0 || titled === undefined || titled.has(id) ? some : undefined;
  }

  async #inMessages(id: ThreadId, documents: readonly Stretch[]): Promise<Snippet | undefined> {
    for (const { from, to, n } of documents) {
      this.#documents += 1;
      const snippet = await this.#between(id, from, to, n === undefined);
      if (snippet !== undefined) return snippet;
    }
    return undefined;
  }

  async #between(id: ThreadId, from: Seq, to: Seq, isFresh: boolean): Promise<Snippet | undefined> {
    for await (const { text } of messagesOf(this.#source, id, from, to + 1)) {
      // Of much that is new, the rest is found when the index has it.
      if (isFresh && this.#freshMessages++ >= FRESH_MESSAGES) return undefined;
      const match = firstMatch(text, this.#wordPattern);
      if (match !== undefined) return snippetOf(text, match);
    }
    return undefined;
  }
}

/** Documents among which are all that have the term; undefined: its words are everywhere. */
function numbersFor({ rows, keys }: Source, term: string): ReadonlySet<number> | undefined {
  const { words, beginnings } = wantedOf(term);
  if (words.length === 0 && beginnings.length === 0) return new Set();
  let found: Set<number> | undefined;
  for (const [word, isBeginning] of [
    ...words.map((word) => [word, false] as const),
    ...beginnings.map((word) => [word, true] as const),
  ]) {
    const numbers = documentsWith(rows, keys, word, isBeginning, ROWS_OF_WORD);
    if (numbers === undefined) continue;
    found = found === undefined ? numbers : new Set([...found].filter((n) => numbers.has(n)));
    if (found.size === 0) return found;
  }
  return found;
}

/** Steps through these threads in the order of the query. */
function fewPlaces(
  { rows, keys }: Source,
  numbers: readonly number[],
  others: readonly ThreadId[],
  query: SearchQuery,
  metaOf: (id: ThreadId) => ThreadMeta | undefined,
): () => ThreadPlace | undefined {
  const { sortKey, direction, from } = query;
  const sign = direction === 'asc' ? 1 : -1;
  const owners = numbers.map((n) => spared(() => rows.get(keys.document(n)))).filter((id) => id !== undefined);
  const places = [...new Set([...owners, ...others])]
    .map(metaOf)
    .filter((meta) => meta !== undefined && isListed(meta))
    .map((meta): ThreadPlace => ({ ms: sortValue(meta as ThreadMeta, sortKey), id: (meta as ThreadMeta).id }))
    .filter((place) => from === undefined || isBehind(place, from, direction))
    .sort((a, b) => sign * byPlace(a, b));
  let index = 0;
  return () => places[index++];
}
