// A search: one listing of its roots, and as many queries over it as somebody types.

import type { Closable } from '../base/close.ts';
import { AppError, isAppError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { type ListParts, listFiles } from './file-list.ts';
import type { RankingThread } from './ranking-thread.ts';
import type { FoundFile, FromRanking } from './search-messages.ts';

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
    const one = ({ path }: SearchRoot, root: number): Promise<void> =>
      listFiles(path, list, signal, (data) =>
        thread.tell({ type: 'paths', id: this.#id, root, data: new Uint8Array(data) }),
      );
    const outcomes = await Promise.allSettled(roots.map(one));
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled' || signal.aborted) continue;
      const error: unknown = outcome.reason;
      if (!isAppError(error, 'notFound') && !isAppError(error, 'invalid')) return this.#fail(error);
    }
    thread.tell({ type: 'listed', id: this.#id });
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
