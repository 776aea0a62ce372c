// Gathers what one read brought and joins neighbouring pieces of the same text into one event.

import type { ModelEvent } from './client.ts';

type Streamed = Extract<ModelEvent, { readonly parts: readonly string[] }>;

export class EventBatch {
  #events: ModelEvent[] = [];
  /** The last event while it can still take pieces, and its parts. */
  #open: { readonly event: Streamed; readonly parts: string[] } | undefined;

  add(event: ModelEvent): void {
    this.#open = undefined;
    this.#events.push(event);
  }

  addText(...pieces: readonly string[]): void {
    if (this.#open?.event.type !== 'text') this.#begin((parts) => ({ type: 'text', parts }));
    this.#extend(pieces);
  }

  addNumberedText(type: 'summaryText' | 'reasoningText', index: number, ...pieces: readonly string[]): void {
    const open = this.#open?.event;
    if (open?.type !== type || open.index !== index) this.#begin((parts) => ({ type, index, parts }));
    this.#extend(pieces);
  }

  addInput(callId: string, piece: string): void {
    const open = this.#open?.event;
    if (open?.type !== 'toolInput' || open.callId !== callId)
      this.#begin((parts) => ({ type: 'toolInput', callId, parts }));
    this.#extend([piece]);
  }

  /** What was gathered; the batch is empty afterwards. */
  take(): readonly ModelEvent[] {
    const events = this.#events;
    this.#events = [];
    this.#open = undefined;
    return events;
  }

  #begin(make: (parts: readonly string[]) => Streamed): void {
    const parts: string[] = [];
    const event = make(parts);
    this.#open = { event, parts };
    this.#events.push(event);
  }

  #extend(pieces: readonly string[]): void {
    for (const piece of pieces) this.#open?.parts.push(piece);
  }
}
