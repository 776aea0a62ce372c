// Where a client stands in each thread that it listens to: after a cut it goes on there, and is told nothing twice.

import type { NotificationMessage } from '../rpc/message.ts';

interface Place {
  /** The last event that was told; undefined: none was, and where the thread stood is not known. */
  seq: number | undefined;
  /** What was told behind it without a place of its own. */
  loose: string[];
  /** Of these the server repeats some after a cut, since they belong to the event it was about to tell. */
  repeats: string[];
}

/** More than belongs to any one event. */
const MAX_LOOSE = 64;

export class Places {
  readonly #places = new Map<string, Place>();

  /** The server has said that from now on this connection is told what comes behind `seq`. */
  listening(threadId: string, seq: number | undefined): void {
    const place = this.#places.get(threadId);
    if (place && place.seq === seq) return;
    this.#places.set(threadId, { seq, loose: [], repeats: [] });
  }

  left(threadId: string): void {
    this.#places.delete(threadId);
  }

  /** Undefined: nothing is known of it, or nobody listens. */
  seqOf(threadId: string): number | undefined {
    return this.#places.get(threadId)?.seq;
  }

  isListening(threadId: string): boolean {
    return this.#places.has(threadId);
  }

  /** The threads that have to be resumed on a new connection. */
  all(): readonly { readonly threadId: string; readonly seq: number | undefined }[] {
    return [...this.#places].map(([threadId, { seq }]) => ({ threadId, seq }));
  }

  /** The connection has ended. */
  cut(): void {
    for (const place of this.#places.values()) {
      place.repeats = place.loose;
      place.loose = [];
    }
  }

  /** Whether this has not been told before. */
  admit(message: NotificationMessage): boolean {
    const threadId = threadIdOf(message.params);
    const place = threadId === undefined ? undefined : this.#places.get(threadId);
    if (!place) return true;
    if (message.seq === undefined) return isNew(place, message);
    if (place.seq !== undefined && message.seq <= place.seq) return false;
    place.seq = message.seq;
    place.loose = [];
    place.repeats = [];
    return true;
  }
}

function isNew(place: Place, { method, params, emittedAtMs }: NotificationMessage): boolean {
  const text = JSON.stringify([method, emittedAtMs, params]);
  const repeated = place.repeats.indexOf(text);
  place.loose.push(text);
  if (place.loose.length > MAX_LOOSE) place.loose.shift();
  if (repeated < 0) return true;
  place.repeats.splice(repeated, 1);
  return false;
}

export function threadIdOf(params: unknown): string | undefined {
  const { threadId } = (params ?? {}) as { threadId?: unknown };
  return typeof threadId === 'string' ? threadId : undefined;
}
