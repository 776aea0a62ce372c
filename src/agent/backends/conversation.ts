// What the model has been shown during one run, and which names in it are taken.

import type { ContextItem } from '../../model/context.ts';
import { type ItemId, newId } from '../../model/ids.ts';

export type ToolCall = Extract<ContextItem, { type: 'toolCall' }>;

export class Conversation {
  readonly #items: ContextItem[];
  readonly #taken = new Set<string>();

  constructor(context: readonly ContextItem[]) {
    this.#items = [...context];
    for (const item of context) {
      if (item.type === 'assistant' || item.type === 'reasoning') this.#taken.add(item.id);
      if (item.type === 'toolCall') this.#taken.add(item.callId);
    }
  }

  get items(): readonly ContextItem[] {
    return this.#items;
  }

  add(items: readonly ContextItem[]): void {
    this.#items.push(...items);
  }

  /** The model's id if it is new here, else one of our own. */
  claim(id: string | null, prefix: 'msg' | 'rs' | 'call' | 'ws'): ItemId {
    const free = id !== null && !this.#taken.has(id) ? id : `${prefix}_${newId()}`;
    this.#taken.add(free);
    return free;
  }

  /**
   * Calls that are still to be made: those without output since the last words of the user or of the server. An older one
   * belongs to work that was stopped, and is never made again.
   */
  unanswered(): readonly ToolCall[] {
    const answered = new Set<string>();
    const calls: ToolCall[] = [];
    for (let at = this.#items.length - 1; at >= 0; at--) {
      const item = this.#items[at];
      if (item === undefined || item.type === 'user' || item.type === 'note') break;
      if (item.type === 'toolOutput') answered.add(item.callId);
      if (item.type === 'toolCall' && !answered.has(item.callId)) calls.unshift(item);
    }
    return calls;
  }
}
