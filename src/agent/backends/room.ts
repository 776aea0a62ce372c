// Whether a turn's model can be asked once more before its view has to be made shorter.

import type { ContextItem } from '../../model/context.ts';
import type { TokenUsage } from '../../model/turn.ts';
import type { TurnRequest } from '../backend.ts';
import { canBeShortened, tokensOf } from '../context-size.ts';

/** The part of the context window that may be used; the rest is for the answer, and for the summary that makes room. */
const USABLE = 0.9;

export class Room {
  /** Tokens from which on there is no more room; null: nobody knows, or nobody would make any. */
  readonly #limit: number | null;
  #counted: number | null;
  /** Not after making room until an answer shows that it did help: else it would be made for ever. */
  #isArmed: boolean;

  constructor(turn: TurnRequest, contextWindow: number | null, compactTokens: number | null) {
    const ofWindow = contextWindow === null ? null : Math.floor(contextWindow * USABLE);
    const limits = [ofWindow, compactTokens].filter((each) => each !== null);
    this.#limit = turn.room === undefined || limits.length === 0 ? null : Math.min(...limits);
    this.#counted = turn.contextTokens ?? null;
    this.#isArmed = turn.room !== 'justMade';
  }

  /** What the provider counted for the last answer. */
  heard({ totalTokens }: TokenUsage): void {
    if (totalTokens === 0) return;
    this.#counted = totalTokens;
    if (this.#limit !== null && totalTokens < this.#limit) this.#isArmed = true;
  }

  isFull(context: readonly ContextItem[]): boolean {
    if (this.#limit === null || !this.#isArmed || !canBeShortened(context)) return false;
    return tokensOf(context, this.#counted) >= this.#limit;
  }
}
