// The questions of one server that stand: so many at a time, each until it is answered, or the server itself says that it is settled.

import type { Clock } from '../base/clock.ts';
import type { Elicitation } from '../model/elicitation.ts';
import { DECLINED, type ElicitationAnswer, readElicitation, UNANSWERED } from './elicitation.ts';
import type { AskedDuring } from './open-calls.ts';

/** A question as it is asked: until the signal aborts. */
export interface Elicited {
  readonly question: Elicitation;
  readonly calls: AskedDuring['calls'];
  readonly signal: AbortSignal;
}

/** Asks people; `DECLINED` or `UNANSWERED` itself where nobody has answered. Never rejects. */
export type Elicit = (elicited: Elicited) => Promise<ElicitationAnswer>;

/** More at a time are declined. */
const MAX_QUESTIONS = 8;
/** Each is kept in the history: who asks and takes back without end is not heard for a while. */
const MAX_UNANSWERED = 100;
const HOUR_MS = 3_600_000;

export class OpenQuestions {
  readonly #elicit: Elicit;
  readonly #clock: Clock;
  /** When those of the last hour began that have ended without an answer, in monotonic milliseconds. */
  #unanswered: readonly number[] = [];
  readonly #standing = new Set<{ readonly id: string | undefined; readonly settled: AbortController }>();

  constructor(elicit: Elicit, clock: Clock) {
    this.#elicit = elicit;
    this.#clock = clock;
  }

  get areStanding(): boolean {
    return this.#standing.size > 0;
  }

  get #isTooMany(): boolean {
    const since = this.#clock.elapsed() - HOUR_MS;
    this.#unanswered = this.#unanswered.filter((begunMs) => begunMs > since);
    return this.#standing.size >= MAX_QUESTIONS || this.#unanswered.length >= MAX_UNANSWERED;
  }

  /** `signals`: at the first one it is over. */
  async ask(params: unknown, { calls, end }: AskedDuring, signals: readonly AbortSignal[]): Promise<ElicitationAnswer> {
    const question = readElicitation(params);
    if (!question || this.#isTooMany) return DECLINED;
    const begunMs = this.#clock.elapsed();
    const settled = new AbortController();
    const standing = { id: question.mode === 'url' ? question.elicitationId : undefined, settled };
    this.#standing.add(standing);
    try {
      const signal = AbortSignal.any([...signals, end, settled.signal]);
      const answer = await this.#elicit({ question, calls, signal });
      if (answer !== UNANSWERED) return answer;
      this.#unanswered = [...this.#unanswered, begunMs];
      // Nobody has said no, and nobody yes.
      return settled.signal.aborted ? { action: 'cancel' } : answer;
    } finally {
      this.#standing.delete(standing);
    }
  }

  /** What was to be done at the address has been done: nobody need be asked any more. */
  complete(elicitationId: string): void {
    for (const { id, settled } of this.#standing) if (id === elicitationId) settled.abort();
  }
}
