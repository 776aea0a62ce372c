// What a client knows of a thread: a snapshot, and every event behind it, applied in the order in which they came.

import { expect } from 'vitest';
import type { Received } from './test-client.ts';

/** What came behind one snapshot, over however many connections. */
interface Stretch {
  readonly after: number;
  readonly told: Received[];
}

const isDelta = ({ method }: Received): boolean => /[dD]elta$/.test(method);

export class Picture {
  /** Behind it the client has seen nothing yet. */
  place: number | undefined;
  readonly stretches: Stretch[] = [];
  #turns = new Map<string, string>();
  #items = new Map<string, { readonly turnId: string; readonly item: Received }>();
  /** What was streamed of items whose beginning was told, and nothing forgotten since. */
  #streamed = new Map<string, string>();

  /** A snapshot: what was known before is forgotten. */
  adopt({ thread, headSeq }: Received): void {
    this.place = headSeq;
    this.stretches.push({ after: headSeq, told: [] });
    this.#turns = new Map(thread.turns.map((turn: Received) => [turn.id, turn.status]));
    this.#items = new Map(
      thread.turns.flatMap((turn: Received) =>
        turn.items.map((item: Received) => [item.id, { turnId: turn.id, item }] as const),
      ),
    );
    this.#streamed = new Map();
  }

  apply(notice: Received): void {
    const { seq, method, params } = notice;
    if (seq === undefined) return;
    expect(seq, 'an event came again or out of order').toBeGreaterThan(this.place ?? 0);
    this.place = seq;
    this.stretches.at(-1)?.told.push(notice);
    if (method === 'turn/started' || method === 'turn/completed') this.#turns.set(params.turn.id, params.turn.status);
    if (method === 'item/started' || method === 'item/completed') {
      const { turnId, item } = params;
      this.#items.set(item.id, { turnId, item });
      if (method === 'item/started') this.#streamed.set(item.id, '');
      else this.#ends(item);
    }
    const streamed = this.#streamed.get(params.itemId);
    if (method === 'item/agentMessage/delta' && streamed !== undefined)
      this.#streamed.set(params.itemId, streamed + params.delta);
  }

  /** Deltas that were missed are in the whole text; what was streamed is its beginning all the same. */
  #ends(item: Received): void {
    const streamed = this.#streamed.get(item.id);
    this.#streamed.delete(item.id);
    if (item.type === 'agentMessage' && streamed !== undefined)
      expect(item.text.startsWith(streamed), `the stream of ${item.id} is not the beginning of its text`).toBe(true);
  }

  /** Turns in order; items by id, since a snapshot leaves out messages that stream. */
  get state() {
    const items = [...this.#items.values()].map(({ turnId, item }) => ({ turnId, item }));
    return {
      turns: [...this.#turns].map(([id, status]) => ({ id, status })),
      items: items.toSorted((a, b) => (a.item.id < b.item.id ? -1 : 1)),
    };
  }

  /** Each stretch against all events of the thread: none missing, none changed, none that is not there. */
  check(events: readonly Received[]): void {
    const plain = ({ seq, method, params }: Received) => ({ seq, method, params });
    for (const { after, told } of this.stretches) {
      const last = told.at(-1)?.seq ?? after;
      const held = events.filter((each) => each.seq > after && each.seq <= last && !isDelta(each));
      expect(told.filter((each) => !isDelta(each)).map(plain)).toEqual(held.map(plain));
    }
  }
}
