// Which parts of which threads have which words: a cache beside the tables, filled when nobody waits, and made anew when it is of another kind.

import { systemClock } from '../base/clock.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import { spared } from './checksum.ts';
import { below, type Key, type KeyRange, type Keys } from './keys.ts';
import { post, unpost } from './postings.ts';
import type { Source } from './reader.ts';
import { breathe, type Row, type Rows } from './rows.ts';
import { type Draft, draftsOf, putDocument } from './word-documents.ts';

/** Another kind of index is made anew. */
const VERSION = '1';
/** Time for which one transaction may hold up others, in ms. */
const CHUNK_MS = 15;
/** Threads, and words, entered together. */
const THREADS = 500;
const WORDS = 250_000;
/** Threads that wait, above which the work rests for half of the time that it takes. */
const MANY = 64;

/** Inside a transaction: there are messages up to `seq` that the index does not have. */
export function noteMessages(rows: Rows, keys: Keys, id: ThreadId, seq: Seq): void {
  rows.put(keys.due(id), JSON.stringify([id, seq]));
}

/** What is entered of a thread. */
interface Entry {
  readonly id: ThreadId;
  readonly key: Key;
  /** The mark goes with the thread, and is another when more was said: then this is done again. */
  readonly mark: string;
  readonly drafts: readonly Draft[];
  readonly isWhole: boolean;
}

export class WordIndex {
  readonly #source: Source;
  readonly #signal: AbortSignal;
  #filling: Promise<void> | undefined;

  constructor(source: Source, signal: AbortSignal) {
    this.#source = source;
    this.#signal = signal;
  }

  /** Threads that wait, counted up to `most`. */
  waiting(most: number): number {
    const { rows, keys } = this.#source;
    return rows.scan({ ...below(keys.due()), limit: most }).length;
  }

  /** Resolves when the index has all messages of ended turns that there are now. */
  fill(): Promise<void> {
    this.#filling ??= this.#fill()
      .catch((error: unknown) => this.#source.log.error({ err: error }, 'the word index could not be filled'))
      .finally(() => {
        this.#filling = undefined;
      });
    return this.#filling;
  }

  async close(): Promise<void> {
    await this.#filling;
  }

  async #fill(): Promise<void> {
    const { rows, keys } = this.#source;
    if (this.#signal.aborted) return;
    if (spared(() => rows.get(keys.wordsVersion())) !== VERSION) await this.#begin();
    while (!this.#signal.aborted) {
      const due = rows.scan({ ...below(keys.due()), limit: THREADS });
      if (due.length === 0) return;
      const started = systemClock.elapsed();
      await this.#enter(await this.#read(due));
      if (due.length > MANY) await rest((systemClock.elapsed() - started) / 2, this.#signal);
      else await breathe();
    }
  }

  /** Everything is entered anew: what is there goes, and every thread waits. */
  async #begin(): Promise<void> {
    const { rows, keys } = this.#source;
    for (const prefix of [keys.word(), keys.document()])
      for await (const step of stepsIn(rows, below(prefix))) await this.#inSlices(step, ({ key }) => rows.remove(key));
    for (const archived of [false, true])
      for await (const step of stepsIn(rows, below(keys.listed(archived, 'createdAt'))))
        await this.#inSlices(step, ({ text: id }) => {
          const own = [keys.documents(id), keys.documentWords(id), keys.worded(id)];
          const old = own.flatMap((prefix) => rows.scan({ ...below(prefix), limit: Infinity }));
          for (const { key } of old) rows.remove(key);
          noteMessages(rows, keys, id, 0);
        });
    if (!this.#signal.aborted) await rows.write(() => rows.put(keys.wordsVersion(), VERSION));
  }

  async #read(due: readonly Row[]): Promise<Entry[]> {
    const { rows } = this.#source;
    const entries: Entry[] = [];
    let words = 0;
    for (const { key, text: mark } of due) {
      if (words >= WORDS || this.#signal.aborted) break;
      if (mark === '') {
        await rows.write(() => rows.remove(key));
        continue;
      }
      const [id] = JSON.parse(mark) as [ThreadId, Seq];
      const read = await draftsOf(this.#source, id, WORDS - words);
      words += read.drafts.reduce((sum, { added }) => sum + added.size, 0);
      entries.push({ id, key, mark, ...read });
    }
    return entries;
  }

  /** First what a removal has to know, then the words, then that they are there: cut off anywhere, it can be gone on with. */
  async #enter(entries: readonly Entry[]): Promise<void> {
    const { rows, keys } = this.#source;
    const isDue = ({ key, mark }: Entry) => spared(() => rows.get(key)) === mark;
    await this.#inSlices(entries, (entry) => {
      if (isDue(entry)) for (const draft of entry.drafts) putDocument(rows, keys, entry.id, draft);
    });
    let due: ReadonlySet<Entry> = new Set();
    const refresh = () => {
      due = new Set(entries.filter(isDue));
    };
    const parts = entries.flatMap((entry) => entry.drafts.map((draft) => ({ entry, draft })));
    const enterWord = ([word, places]: readonly [string, readonly number[]]) => {
      const numbers = places.flatMap((index) => {
        const { entry, draft } = parts[index] as (typeof parts)[number];
        return due.has(entry) && draft.n !== undefined ? [draft.n] : [];
      });
      post(rows, keys, word, numbers);
    };
    await this.#inSlices(byWord(parts.map(({ draft }) => draft)), enterWord, refresh);
    await this.#inSlices(entries, (entry) => {
      if (!isDue(entry)) return;
      const last = entry.drafts.at(-1);
      if (last !== undefined) rows.put(keys.worded(entry.id), String(last.to));
      if (entry.isWhole) rows.remove(entry.key);
    });
  }

  /** In order, in as many transactions as it takes. `begin` runs at the beginning of each. */
  #inSlices<T>(parts: readonly T[], work: (part: T) => void, begin?: () => void): Promise<void> {
    return inSlices(this.#source.rows, parts, work, { begin, signal: this.#signal });
  }
}

/** Takes the words of a thread out of the index; its rows go with the thread. Running it again is harmless. */
export async function forgetWords({ rows, keys }: Source, id: ThreadId): Promise<void> {
  for await (const step of stepsIn(rows, below(keys.documentWords(id))))
    for (const { key, text, isDamaged } of step) {
      const n = key.at(-1) as number;
      const words = isDamaged || text === '' ? [] : text.split(' ');
      await inSlices(rows, words, (word) => unpost(rows, keys, word, n));
      await rows.write(() => {
        // Which words it had is not known any more: the whole index is made anew.
        if (isDamaged) rows.remove(keys.wordsVersion());
        rows.remove(keys.document(n));
        rows.remove(key);
      });
    }
  if (rows.get(keys.due(id)) !== undefined) await rows.write(() => rows.remove(keys.due(id)));
}

/** Each word with the places of the drafts to which it was added; sorted, so that neighbouring rows are written together. */
function byWord(drafts: readonly Draft[]): [string, number[]][] {
  const found = new Map<string, number[]>();
  for (const [index, { added }] of drafts.entries())
    for (const word of added) {
      const places = found.get(word);
      if (places === undefined) found.set(word, [index]);
      else places.push(index);
    }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}

async function inSlices<T>(
  rows: Rows,
  parts: readonly T[],
  work: (part: T) => void,
  { begin, signal }: { readonly begin?: (() => void) | undefined; readonly signal?: AbortSignal } = {},
): Promise<void> {
  for (let done = 0; done < parts.length && !signal?.aborted; ) {
    done = await rows.write(() => {
      const end = systemClock.elapsed() + CHUNK_MS;
      begin?.();
      let next = done;
      do work(parts[next++] as T);
      while (next < parts.length && systemClock.elapsed() < end);
      return next;
    });
    await breathe();
  }
}

async function* stepsIn(rows: Rows, whole: KeyRange): AsyncGenerator<readonly Row[]> {
  let range = whole;
  for (;;) {
    const step = rows.scan({ ...range, limit: 100 });
    const last = step.at(-1);
    if (last === undefined) return;
    yield step;
    range = { from: [...last.key, 0], to: range.to };
    await breathe();
  }
}

/** Lets others have the processor. */
function rest(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
