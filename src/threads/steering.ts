// Input that reaches a running turn: durable when it is accepted, a message of the thread when the backend takes it.

import type { Steering } from '../agent/backend.ts';
import { deferred } from '../base/signals.ts';
import type { ContextItem } from '../model/context.ts';
import type { EventOf, ThreadEvent } from '../model/event.ts';
import { userMessage } from '../model/item.ts';

export class SteeringBox implements Steering {
  readonly #accept: (events: readonly ThreadEvent[]) => void;
  readonly #now: () => number;
  #waiting: EventOf<'steered'>[] = [];
  #abort = new AbortController();
  /** Inputs on their way to the disk. */
  #coming = 0;
  #arrival = deferred();
  #isClosed = false;

  /** `accept` hands events to the log. */
  constructor(accept: (events: readonly ThreadEvent[]) => void, now: () => number) {
    this.#accept = accept;
    this.#now = now;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /**
   * Keeps the turn from ending until the returned function has been called: with the input that is on disk, or with nothing.
   * Undefined: the turn takes no more.
   */
  expect(): ((input?: EventOf<'steered'>) => void) | undefined {
    if (this.#isClosed) return undefined;
    this.#coming += 1;
    return (input) => {
      this.#coming -= 1;
      if (input) {
        this.#waiting.push(input);
        this.#abort.abort('steered');
      }
      this.#arrival.resolve();
      this.#arrival = deferred();
    };
  }

  /** Whether something waits that the backend has not taken. */
  async hasMore(): Promise<boolean> {
    while (this.#waiting.length === 0 && this.#coming > 0) await this.#arrival.promise;
    return this.#waiting.length > 0;
  }

  /** Nothing is taken from then on; false: something waits, and more is taken as before. */
  async close(): Promise<boolean> {
    this.#isClosed = !(await this.hasMore());
    return this.#isClosed;
  }

  take(): readonly ContextItem[] {
    const taken = this.#waiting;
    this.#waiting = [];
    this.#abort = new AbortController();
    if (taken.length > 0) this.#accept(taken.flatMap((input) => messageEvents(input, this.#now())));
    return taken.map(contextOf);
  }
}

function contextOf(input: EventOf<'steered'>): ContextItem {
  return { type: 'user', content: input.shown ?? input.content };
}

/** What makes accepted input a message of the thread and a part of the model's view. */
export function messageEvents(input: Omit<EventOf<'steered'>, 'type'>, atMs: number): ThreadEvent[] {
  const { turnId, itemId, content, clientId, shown = content } = input;
  const item = userMessage(itemId, content, clientId, atMs);
  return [
    { type: 'itemStarted', turnId, item },
    { type: 'itemCompleted', turnId, item: { ...item, completedAtMs: atMs } },
    { type: 'contextAdded', turnId, items: [{ type: 'user', content: shown }] },
  ];
}
