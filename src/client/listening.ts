// Which threads a client listens to, and how it goes on listening: after a cut, and where the server itself let go of a thread.

import { type Clock, sleep } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { NotificationMessage } from '../rpc/message.ts';
import type { Client } from './client.ts';
import { asAppError, isCut, isOverload, RequestError } from './errors.ts';
import type { Link } from './link.ts';
import type { Gap, News } from './news.ts';
import type { OverloadGate } from './overload.ts';
import { Places } from './places.ts';
import { type ResumeParts, resumeBehind } from './resume.ts';
import { type Pauses, pauseBefore } from './timing.ts';

export interface ListeningParts {
  readonly gate: OverloadGate;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly link: () => Link;
  readonly gap: (gap: Gap) => void;
  readonly lost: (threadId: string, error: RequestError) => void;
}

const SUBSCRIBING: ReadonlySet<string> = new Set(['thread/start', 'thread/resume', 'thread/fork']);
/** How often a thread is joined again that the server lets go of each time, before anything new is told of it. */
const MAX_REJOINS = 5;
const REJOIN_PAUSES: Pauses = { firstMs: 50, longestMs: 2_000 };

export class Listening {
  readonly #parts: ListeningParts;
  readonly #places = new Places();
  readonly #rejoins = new Map<string, number>();

  constructor(parts: ListeningParts) {
    this.#parts = parts;
  }

  seqOf(threadId: string): number | undefined {
    return this.#places.seqOf(threadId);
  }

  /** Whether this has not been told before. */
  admit(message: NotificationMessage): boolean {
    return this.#places.admit(message);
  }

  heard({ method, params, seq }: News): void {
    if (method === 'thread/deleted' || method === 'thread/archived') this.#left(params.threadId);
    else if (method === 'thread/closed') void this.#rejoin(params.threadId);
    else if (seq !== undefined && this.#rejoins.size > 0)
      this.#rejoins.delete((params as { threadId?: string }).threadId ?? '');
  }

  answered(method: string, params: unknown, result: unknown): void {
    const { threadId, afterEventSeq } = (params ?? {}) as { threadId?: string; afterEventSeq?: number | null };
    if (method === 'thread/unsubscribe' && threadId !== undefined) this.#left(threadId);
    if (!SUBSCRIBING.has(method)) return;
    const { thread, headSeq } = result as { thread: { id: string }; headSeq?: number };
    const place = afterEventSeq ?? headSeq;
    // The answer to a repeated start may be an old one.
    const isStart = method === 'thread/start';
    this.#places.listening(thread.id, isStart ? Math.max(place ?? 0, this.seqOf(thread.id) ?? 0) : place);
  }

  cut(): void {
    this.#places.cut();
  }

  /** On a new connection. Rejects when it ends meanwhile, or the server stays overloaded. */
  async restore(client: Client, signal: AbortSignal): Promise<void> {
    for (const { threadId, seq } of this.#places.all()) await this.#resume(client, { threadId, seq }, signal);
  }

  async #resume(
    client: Client,
    { threadId, seq }: { readonly threadId: string; readonly seq: number | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    const { gate, timeoutMs, gap } = this.#parts;
    const parts: ResumeParts = {
      ...{ gate, timeoutMs, signal },
      gap: (told) => {
        this.#places.listening(threadId, told.headSeq);
        gap(told);
      },
    };
    try {
      await resumeBehind(client, threadId, seq, parts);
    } catch (error) {
      if (!(error instanceof AppError) || isCut(error) || isOverload(error) || signal.aborted) throw error;
      this.#lose(threadId, error);
    }
  }

  /** The server has let go of a thread that is there: whoever listened joins again behind what it has seen. */
  async #rejoin(threadId: string): Promise<void> {
    if (!this.#places.isListening(threadId)) return;
    const attempt = (this.#rejoins.get(threadId) ?? 0) + 1;
    this.#rejoins.set(threadId, attempt);
    if (attempt > MAX_REJOINS) {
      this.#lose(threadId, new AppError('unavailable', 'the server lets go of this thread each time it is joined'));
      return;
    }
    const { signal } = new AbortController();
    try {
      await sleep(this.#parts.clock, pauseBefore(attempt, REJOIN_PAUSES));
      const client = await this.#parts.link().ready(signal);
      if (this.#places.isListening(threadId))
        await this.#resume(client, { threadId, seq: this.seqOf(threadId) }, signal);
    } catch (error) {
      // A cut: the next connection restores it with all others.
      if (!isCut(error)) this.#lose(threadId, asAppError(error));
    }
  }

  #lose(threadId: string, error: AppError): void {
    this.#left(threadId);
    this.#parts.lost(threadId, new RequestError(error));
  }

  #left(threadId: string): void {
    this.#places.left(threadId);
    this.#rejoins.delete(threadId);
  }
}
