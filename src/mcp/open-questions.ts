// The questions of one server that stand: so many at a time, each until it is answered, or the server itself says that it is settled.

import type { Elicitation } from '../model/elicitation.ts';
import { DECLINED, type ElicitationAnswer, readElicitation } from './elicitation.ts';
import type { AskedDuring } from './open-calls.ts';

/** A question as it is asked: until the signal aborts. */
export interface Elicited {
  readonly question: Elicitation;
  readonly calls: AskedDuring['calls'];
  readonly signal: AbortSignal;
}

/** Asks people; `DECLINED` itself where nobody has answered. Never rejects. */
export type Elicit = (elicited: Elicited) => Promise<ElicitationAnswer>;

/** More at a time are declined. */
const MAX_QUESTIONS = 8;

export class OpenQuestions {
  readonly #elicit: Elicit;
  readonly #standing = new Set<{ readonly id: string | undefined; readonly settled: AbortController }>();

  constructor(elicit: Elicit) {
    this.#elicit = elicit;
  }

  get areStanding(): boolean {
    return this.#standing.size > 0;
  }

  /** `signals`: at the first one it is over. */
  async ask(params: unknown, { calls, end }: AskedDuring, signals: readonly AbortSignal[]): Promise<ElicitationAnswer> {
    const question = readElicitation(params);
    if (!question || this.#standing.size >= MAX_QUESTIONS) return DECLINED;
    const settled = new AbortController();
    const standing = { id: question.mode === 'url' ? question.elicitationId : undefined, settled };
    this.#standing.add(standing);
    try {
      const signal = AbortSignal.any([...signals, end, settled.signal]);
      const answer = await this.#elicit({ question, calls, signal });
      // Nobody has said no, and nobody yes.
      return settled.signal.aborted && answer === DECLINED ? { action: 'cancel' } : answer;
    } finally {
      this.#standing.delete(standing);
    }
  }

  /** What was to be done at the address has been done: nobody need be asked any more. */
  complete(elicitationId: string): void {
    for (const { id, settled } of this.#standing) if (id === elicitationId) settled.abort();
  }
}
