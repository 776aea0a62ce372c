// A search: one listing of its roots, and as many queries over it as somebody types.

import type { Closable } from '../base/close.ts';
import { AppError, isAppError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { type ListParts, listFiles } from './file-list.ts';
import type { RankingThread } from './ranking-thread.ts';
import type { FoundFile, FromRanking } from './search-messages.ts';

/** Each takes a program of its own. */
const ROOTS_LISTED_AT_ONCE = 4;

export interface SearchParts {
  readonly thread: RankingThread;
  readonly list: ListParts;
  readonly log: Log;
}

export interface SearchRoot {
  /** As the client calls it. */
  readonly name: string;
  readonly path: string;
}

export interface SearchListener {
  /** The best so far for this query, never for an earlier one. */
  found(query: string, files: readonly FoundFile[], isComplete: boolean): void;
  failed(error: unknown): void;
}

export class FileSearch implements Closable {
  readonly #parts: SearchParts;
  readonly #listener: SearchListener;
  readonly #abort = new AbortController();
  readonly #id: number;
  #turn = 0;
  #query = '';

  /** Begins to list. Roots that do not exist are empty. */
  constructor(roots: readonly SearchRoot[], parts: SearchParts, listener: SearchListener) {
    this.#parts = parts;
    this.#listener = listener;
    const { thread, log } = parts;
    this.#id = thread.open(
      roots.map(({ name }) => name),
      {
        found: (message) => this.#found(message),
        failed: (error) => {
          log.error({ err: error }, 'the thread that ranks files broke');
          this.#fail(new AppError('unavailable', 'the search broke off'));
        },
      },
    );
    void this.#list(roots);
  }

  /** Ends the query before it. */
  query(text: string): void {
    this.#turn += 1;
    this.#query = text;
    this.#parts.thread.tell({ type: 'query', id: this.#id, turn: this.#turn, query: text });
  }

  async close(): Promise<void> {
    this.#abort.abort();
    this.#parts.thread.tell({ type: 'close', id: this.#id });
  }

  async #list(roots: readonly SearchRoot[]): Promise<void> {
    const { thread, list } = this.#parts;
    const { signal } = this.#abort;
    const waiting = roots.entries();
    const failures: unknown[] = [];
    const listSome = async (): Promise<void> => {
      for (const [root, { path }] of waiting) {
        if (signal.aborted) return;
        const take = (data: Buffer) => thread.tell({ type: 'paths', id: this.#id, root, data: new Uint8Array(data) });
        await listFiles(path, list, signal, take).catch((error: unknown) => failures.push(error));
      }
    };
    await Promise.all(Array.from({ length: ROOTS_LISTED_AT_ONCE }, listSome));
    const isEmpty = (error: unknown) => isAppError(error, 'notFound') || isAppError(error, 'invalid');
    const failure = failures.find((error) => !isEmpty(error));
    if (failure === undefined) thread.tell({ type: 'listed', id: this.#id });
    else this.#fail(failure);
  }

  #found({ turn, files, isComplete }: FromRanking): void {
    if (turn === this.#turn && !this.#abort.signal.aborted) this.#listener.found(this.#query, files, isComplete);
  }

  #fail(error: unknown): void {
    if (this.#abort.signal.aborted) return;
    void this.close();
    this.#listener.failed(error);
  }
}
