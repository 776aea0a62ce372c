// Which parts of which threads have which words: a cache beside the tables, filled when nobody waits, and made anew when it is of another kind.

import type { Seq, ThreadId } from '../model/ids.ts';
import { spared } from './checksum.ts';
import { below, ENDLESS, type Key, type KeyRange, type Keys } from './keys.ts';
import { messagesOf } from './messages.ts';
import { post, unpost } from './postings.ts';
import type { Source } from './reader.ts';
import { breathe, type Rows } from './rows.ts';
import { addWords } from './words.ts';

/** Another kind of index is made anew. */
const VERSION = '1';
/** Time for which one transaction may hold up others, in ms. */
const CHUNK_MS = 10;
/** Changes gathered before they are written. */
const STEPS = 2000;
/** A document ends behind the message that gives it so many words, or characters. */
const DOCUMENT_WORDS = 1000;
const DOCUMENT_CHARACTERS = 64 * 1024;
/** Characters of one message that count. */
const MESSAGE_CHARACTERS = 256 * 1024;
/** Threads that wait, above which the work rests as long as it takes. */
const MANY = 64;

/** Neighbouring messages of a thread. */
export interface Document {
  readonly n: number;
  readonly from: Seq;
  readonly to: Seq;
}

/** A document that takes more messages. */
interface Open {
  /** Absent until it has been written. */
  readonly n: number | undefined;
  readonly from: Seq;
  to: Seq;
  characters: number;
  readonly words: Set<string>;
  /** Words of it that are not entered. */
  readonly added: Set<string>;
}

/** Something to write, inside a transaction. */
type Step = () => unknown;

/** Inside a transaction: there are messages up to `seq` that the index does not have. */
export function noteMessages(rows: Rows, keys: Keys, id: ThreadId, seq: Seq): void {
  rows.put(keys.due(id), JSON.stringify([id, seq]));
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
      const due = rows.scan({ ...below(keys.due()), limit: MANY + 1 });
      if (due.length === 0) return;
      const started = performance.now();
      const steps: Step[] = [];
      for (const { key, text } of due) {
        if (text === '') steps.push(() => rows.remove(key));
        else steps.push(...(await this.#stepsOf(key, text)));
        if (steps.length > STEPS || this.#signal.aborted) break;
      }
      await write(rows, steps, this.#signal);
      if (due.length > MANY) await rest(performance.now() - started, this.#signal);
      else await breathe();
    }
  }

  /** Everything is entered anew: what is there goes, and every thread waits. */
  async #begin(): Promise<void> {
    const { rows, keys } = this.#source;
    for (const prefix of [keys.word(), keys.document(), keys.due()]) await clear(rows, below(prefix), this.#signal);
    for (const archived of [false, true]) {
      const threads = below(keys.listed(archived, 'createdAt'));
      for await (const step of inSteps(rows, threads)) {
        const changes = step.map(({ text: id }) => () => {
          const own = [keys.documents(id), keys.documentWords(id), keys.worded(id)];
          const old = own.flatMap((prefix) => rows.scan({ ...below(prefix), limit: Infinity }));
          for (const { key } of old) rows.remove(key);
          noteMessages(rows, keys, id, 0);
        });
        await write(rows, changes, this.#signal);
      }
    }
    if (!this.#signal.aborted) await rows.write(() => rows.put(keys.wordsVersion(), VERSION));
  }

  /** What enters the messages of a thread up to its open turns; each step leaves an index that can be gone on with. */
  async #stepsOf(dueKey: Key, due: string): Promise<Step[]> {
    const { rows, keys } = this.#source;
    const [id] = JSON.parse(due) as [ThreadId, Seq];
    const through = Number(spared(() => rows.get(keys.worded(id))) ?? 0);
    const steps: Step[] = [];
    // The mark goes with the thread, and is another when more was said: then this is done again.
    const isDue = () => spared(() => rows.get(dueKey)) === due;
    const add = (step: Step) => steps.push(() => isDue() && step());
    let open = lastDocument(this.#source, id, through);
    for await (const { seq, text } of messagesOf(this.#source, id, through + 1, openFrom(this.#source, id))) {
      if (open !== undefined && isFull(open)) {
        enter(this.#source, id, open, add);
        open = undefined;
      }
      open ??= { n: undefined, from: seq, to: seq, characters: 0, words: new Set(), added: new Set() };
      extend(open, seq, text);
    }
    if (open !== undefined && open.added.size > 0) enter(this.#source, id, open, add);
    add(() => rows.remove(dueKey));
    return steps;
  }
}

/** The documents of a thread, in order. */
export function documentsOf({ rows, keys }: Source, id: ThreadId): Document[] {
  const found = rows.scan({ ...below(keys.documents(id)), limit: Infinity });
  return found.flatMap(({ key, text }) => {
    if (text === '') return [];
    const [from, to] = JSON.parse(text) as [Seq, Seq, number];
    return [{ n: key.at(-1) as number, from, to }];
  });
}

/** Takes the words of a thread out of the index; its rows go with the thread. Running it again is harmless. */
export async function forgetWords({ rows, keys }: Source, id: ThreadId): Promise<void> {
  for await (const step of inSteps(rows, below(keys.documentWords(id)))) {
    const steps = step.flatMap(({ key, text, isDamaged }) => {
      const n = key.at(-1) as number;
      // Which words it had is not known any more: the whole index is made anew.
      if (isDamaged) return [() => rows.remove(keys.wordsVersion())];
      const words = text.split(' ').map((word) => () => unpost(rows, keys, word, n));
      return [...words, () => rows.remove(keys.document(n)), () => rows.remove(key)];
    });
    await write(rows, steps);
  }
  await rows.write(() => rows.remove(keys.due(id)));
}

/** The place of the first turn that has not ended. */
function openFrom({ rows, keys }: Source, id: ThreadId): Seq {
  const open = rows.scan({ ...below(keys.openTurnsOf(id)), limit: Infinity });
  return Math.min(
    ENDLESS,
    ...open.flatMap(({ text }) => (text === '' ? [] : [(JSON.parse(text) as { seq: Seq }).seq])),
  );
}

/** The document that goes on; of one that was cut off everything is entered again. */
function lastDocument({ rows, keys }: Source, id: ThreadId, through: Seq): Open | undefined {
  const [row] = rows.scan({ ...below(keys.documents(id)), reverse: true, limit: 1 });
  if (row === undefined || row.isDamaged) return undefined;
  const n = row.key.at(-1) as number;
  const text = spared(() => rows.get(keys.documentWords(id, n)));
  if (text === undefined) return undefined;
  const [from, to, characters] = JSON.parse(row.text) as [Seq, Seq, number];
  const words = new Set(text.split(' '));
  return { n, from, to, characters, words, added: new Set(to > through ? words : []) };
}

const isFull = ({ words, characters }: Open): boolean =>
  words.size >= DOCUMENT_WORDS || characters >= DOCUMENT_CHARACTERS;

function extend(open: Open, seq: Seq, text: string): void {
  const found = new Set<string>();
  addWords(text.slice(0, MESSAGE_CHARACTERS), found);
  for (const word of found) {
    if (!open.words.has(word)) open.added.add(word);
    open.words.add(word);
  }
  open.to = seq;
  open.characters += text.length;
}

/** First what a removal has to know, then the words, then that they are there. */
function enter({ rows, keys }: Source, id: ThreadId, open: Open, add: (step: Step) => void): void {
  let n = open.n ?? 0;
  add(() => {
    if (open.n === undefined) n = nextNumber(rows, keys);
    rows.put(keys.document(n), id);
    rows.put(keys.documents(id, n), JSON.stringify([open.from, open.to, open.characters]));
    rows.put(keys.documentWords(id, n), [...open.words].join(' '));
  });
  for (const word of open.added) add(() => post(rows, keys, word, n));
  add(() => rows.put(keys.worded(id), String(open.to)));
}

function nextNumber(rows: Rows, keys: Keys): number {
  const [last] = rows.scan({ ...below(keys.document()), reverse: true, limit: 1 });
  return last === undefined ? 1 : (last.key.at(-1) as number) + 1;
}

/** In order, in as many transactions as it takes. */
async function write(rows: Rows, steps: readonly Step[], signal?: AbortSignal): Promise<void> {
  for (let done = 0; done < steps.length && !signal?.aborted; ) {
    done = await rows.write(() => {
      const end = performance.now() + CHUNK_MS;
      let next = done;
      do steps[next++]?.();
      while (next < steps.length && performance.now() < end);
      return next;
    });
    await breathe();
  }
}

async function* inSteps(rows: Rows, whole: KeyRange) {
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

async function clear(rows: Rows, range: KeyRange, signal: AbortSignal): Promise<void> {
  for await (const step of inSteps(rows, range))
    await write(
      rows,
      step.map(
        ({ key }) =>
          () =>
            rows.remove(key),
      ),
      signal,
    );
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
