// The questions of one server that stand: so many at a time, each until it is answered, or the server itself says that it is settled.

import { DECLINED, type Elicitation, type ElicitationAnswer, readElicitation } from './elicitation.ts';

export type Elicit = (question: Elicitation, signal: AbortSignal) => Promise<ElicitationAnswer>;

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

  /** `signals`: at the first one it is over. Rejects as `elicit` does. */
  async ask(params: unknown, signals: readonly AbortSignal[]): Promise<ElicitationAnswer> {
    const question = readElicitation(params);
    if (!question || this.#standing.size >= MAX_QUESTIONS) return DECLINED;
    const settled = new AbortController();
    const standing = { id: question.mode === 'url' ? question.elicitationId : undefined, settled };
    this.#standing.add(standing);
    try {
      const answer = await this.#elicit(question, AbortSignal.any([...signals, settled.signal]));
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
