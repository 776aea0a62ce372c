// Which parts of which threads have which words: a cache beside the tables, filled when nobody waits, and made anew when it is of another kind.

import { systemClock } from '../base/clock.ts';
import { SingleRun } from '../base/single-run.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import { spared } from './checksum.ts';
import { after, below, type Key, type Keys } from './keys.ts';
import { post, unpost } from './postings.ts';
import type { Source } from './reader.ts';
import { breathe, type Row, type Rows } from './rows.ts';
import { inSlices, stepsIn } from './slices.ts';
import { type Draft, draftsOf, type GiveWay, putDocument } from './word-documents.ts';
import { byWord, inOrder, type PlacedWord } from './word-order.ts';

/** Another kind of index is made anew. */
const VERSION = '1';
/** Time for which one transaction of a removal may hold up others, in ms. */
const CHUNK_MS = 15;
/** Threads, and words, entered together. */
const THREADS = 500;
const WORDS = 250_000;
/** The same while others work: what is said in a thread before its words are entered makes them be read again. */
const FEW_WORDS = 25_000;
/** Between two slices while others work, in ms; the long one when so much is due that it would not be over soon anyway. */
const PAUSE_MS = 50;
const LONG_PAUSE_MS = 500;

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
  readonly #filling: SingleRun;
  #pauseMs = PAUSE_MS;

  constructor(source: Source, signal: AbortSignal) {
    this.#source = source;
    this.#signal = signal;
    const failed = (err: unknown) => source.log.error({ err }, 'the word index could not be filled');
    this.#filling = new SingleRun(() => this.#fill(), failed);
  }

  /** Threads that wait, counted up to `most`. */
  waiting(most: number): number {
    const { rows, keys } = this.#source;
    return rows.scan({ ...below(keys.due()), limit: most }).length;
  }

  /** Resolves when the index has all messages of ended turns that there are now. */
  fill(): Promise<void> {
    return this.#filling.run();
  }

  close(): Promise<void> {
    return this.#filling.settled();
  }

  async #fill(): Promise<void> {
    const { rows, keys } = this.#source;
    if (this.#signal.aborted) return;
    if (spared(() => rows.get(keys.wordsVersion())) !== VERSION) await this.#begin();
    while (!this.#signal.aborted) {
      const due = rows.scan({ ...below(keys.due()), limit: THREADS });
      if (due.length === 0) return;
      if (due.length === THREADS) this.#pauseMs = LONG_PAUSE_MS;
      const entries = await this.#read(due, rows.pace.isQuiet ? WORDS : FEW_WORDS);
      const isMuch = due.length === THREADS || entries.some(({ isWhole }) => !isWhole);
      this.#pauseMs = isMuch ? LONG_PAUSE_MS : PAUSE_MS;
      await this.#enter(entries);
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
    if ((await this.#slice()) > 0) await rows.writeAside(() => rows.put(keys.wordsVersion(), VERSION));
  }

  async #read(due: readonly Row[], most: number): Promise<Entry[]> {
    const giveWay = this.#givingWay();
    const entries: Entry[] = [];
    let words = 0;
    for (const { key, text: mark } of due) {
      if (words >= most || !(await giveWay())) break;
      if (mark === '') {
        await this.#noteAgain(key);
        continue;
      }
      const [id] = JSON.parse(mark) as [ThreadId, Seq];
      const read = await draftsOf(this.#source, id, most - words, giveWay);
      words += read.drafts.reduce((sum, { added }) => sum + added.size, 0);
      entries.push({ id, key, mark, ...read });
    }
    return entries;
  }

  /** A damaged mark says by its key whose it is; one that was put there meanwhile stays. */
  async #noteAgain(key: Key): Promise<void> {
    const { rows, keys } = this.#source;
    await rows.writeAside(() => {
      const [now] = rows.scan({ from: key, to: after(key), limit: 1 });
      if (now?.text === '') noteMessages(rows, keys, key.at(-1) as string, 0);
    });
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
    const enterWord = ([word, places]: PlacedWord) => {
      const numbers = places.flatMap((index) => {
        const { entry, draft } = parts[index] as (typeof parts)[number];
        return due.has(entry) && draft.n !== undefined ? [draft.n] : [];
      });
      post(rows, keys, word, numbers);
    };
    const words = await byWord(
      parts.map(({ draft }) => draft),
      this.#givingWay(),
    );
    await this.#inSlices(inOrder(words), enterWord, refresh);
    await this.#inSlices(entries, (entry) => {
      if (!isDue(entry)) return;
      const last = entry.drafts.at(-1);
      if (last !== undefined) rows.put(keys.worded(entry.id), String(last.to));
      if (entry.isWhole) rows.remove(entry.key);
    });
  }

  /** In order, in as many transactions as it takes. `begin` runs at the beginning of each. */
  #inSlices<T>(parts: Iterable<T>, work: (part: T) => void, begin?: () => void): Promise<void> {
    const { rows } = this.#source;
    return inSlices(parts, work, { next: () => this.#slice(), write: (slice) => rows.writeAside(slice), begin });
  }

  /** For work without transactions: to be called again and again, it waits whenever a slice is over. */
  #givingWay(): GiveWay {
    let end = 0;
    return async () => {
      if (systemClock.elapsed() < end) return true;
      const ms = await this.#slice();
      end = systemClock.elapsed() + ms;
      return ms > 0;
    };
  }

  #slice(): Promise<number> {
    return this.#source.rows.pace.slice(this.#pauseMs, this.#signal);
  }
}

/** Takes the words of a thread out of the index; its rows go with the thread. Running it again is harmless. */
export async function forgetWords({ rows, keys }: Source, id: ThreadId): Promise<void> {
  const next = () => breathe().then(() => CHUNK_MS);
  const write = (slice: () => void) => rows.write(slice);
  for await (const step of stepsIn(rows, below(keys.documentWords(id))))
    for (const { key, text, isDamaged } of step) {
      const n = key.at(-1) as number;
      const words = isDamaged || text === '' ? [] : text.split(' ');
      await inSlices(words, (word) => unpost(rows, keys, word, n), { next, write });
      await rows.write(() => {
        // Which words it had is not known any more: the whole index is made anew.
        if (isDamaged) rows.remove(keys.wordsVersion());
        rows.remove(keys.document(n));
        rows.remove(key);
      });
    }
  if (rows.get(keys.due(id)) !== undefined) await rows.write(() => rows.remove(keys.due(id)));
}
