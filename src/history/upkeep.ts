// What is done for a tenant when nobody waits, where it may be written: the indexes of searches are filled, and streamed text of
// ended turns goes.

import { SingleRun } from '../base/single-run.ts';
import type { ThreadEvent } from '../model/event.ts';
import type { ThreadId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { below } from './keys.ts';
import type { Source } from './reader.ts';
import { FRESH_AT_MOST, fillIndex } from './search-index.ts';
import { SpentDeltas } from './spent-deltas.ts';
import type { EventToStore } from './store.ts';
import { WAITING_AT_MOST } from './word-documents.ts';
import { WordIndex } from './word-index.ts';

/** What ends streams of text. */
const ENDING: ReadonlySet<ThreadEvent['type']> = new Set(['turnCompleted', 'itemCompleted', 'turnsReverted']);

export class Upkeep {
  readonly #source: Source;
  readonly #closing = new AbortController();
  readonly #words: WordIndex;
  readonly #spent: SpentDeltas;
  readonly #filling: SingleRun;
  /** Commits since the search index was last looked after. */
  #unseen = 0;

  constructor(source: Source, metaOf: (id: ThreadId) => ThreadMeta | undefined) {
    this.#source = source;
    this.#words = new WordIndex(source, this.#closing.signal);
    this.#spent = new SpentDeltas(source, this.#closing.signal);
    const { rows, keys, log } = source;
    this.#filling = new SingleRun(
      () => fillIndex(rows, keys, metaOf, this.#closing.signal),
      (err) => log.error({ err }, 'the search index could not be filled'),
    );
  }

  /** Something is about to be written: once in a while the search index takes in what waits for it. */
  writing(): void {
    if (this.#source.rows.shut !== undefined) return;
    this.#unseen += 1;
    if (this.#unseen < FRESH_AT_MOST / 4 || this.#filling.isRunning) return;
    this.#unseen = 0;
    const { rows, keys } = this.#source;
    if (this.#words.waiting(WAITING_AT_MOST / 2) === WAITING_AT_MOST / 2) void this.#words.fill();
    if (rows.scan({ ...below(keys.fresh()), limit: FRESH_AT_MOST / 2 }).length < FRESH_AT_MOST / 2) return;
    void this.indexed();
  }

  /** The events are on disk. */
  written(events: readonly EventToStore[]): void {
    if (events.some(({ event }) => ENDING.has(event.type))) void this.swept();
  }

  /** Resolves when nothing is left of the streamed text of turns that have ended. */
  swept(): Promise<void> {
    return this.#source.rows.shut === undefined ? this.#spent.sweep() : Promise.resolve();
  }

  /** Resolves when the word index has all messages that there are now. */
  worded(): Promise<void> {
    return this.#source.rows.shut === undefined ? this.#words.fill() : Promise.resolve();
  }

  /** Resolves when the search index has all texts that there are now. */
  indexed(): Promise<void> {
    if (this.#source.rows.shut !== undefined) return Promise.resolve();
    const filled = this.#filling.run();
    void filled.then(() => this.#words.fill());
    return filled;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#filling.settled();
    await this.#words.close();
    await this.#spent.close();
  }
}
