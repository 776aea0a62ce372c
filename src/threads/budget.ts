// What a turn may cost: tokens and wall time of its own, and of the goal that it works for.

import type { Clock } from '../base/clock.ts';
import type { Budgets } from '../config/budgets.ts';
import type { ThreadEvent } from '../model/event.ts';
import type { TurnId } from '../model/ids.ts';
import type { Goal } from '../model/thread.ts';
import { type TokenUsage, type TurnError, turnError } from '../model/turn.ts';
import { seconds } from './view.ts';

/** What a provider has to work for: what it read from its cache is not counted. */
const costOf = ({ inputTokens, cachedInputTokens, outputTokens }: TokenUsage): number =>
  Math.max(0, inputTokens - cachedInputTokens) + outputTokens;

export class TurnBudget {
  readonly #budgets: Budgets;
  readonly #goal: () => Goal | null;
  readonly #clock: Clock;
  readonly #beganAt: number;
  #tokens = 0;
  /** The turn was stopped by `onTime`. */
  #isLate = false;

  /** `goal`: the thread's own at the moment; it counts while it is active. */
  constructor(budgets: Budgets, goal: () => Goal | null, clock: Clock) {
    this.#budgets = budgets;
    this.#goal = goal;
    this.#clock = clock;
    this.#beganAt = clock.elapsed();
  }

  spend(usage: TokenUsage): void {
    this.#tokens += costOf(usage);
  }

  /** Why the turn is to end now; undefined while there is something left. */
  spent(): TurnError | undefined {
    const { turnTokens } = this.#budgets;
    const goal = this.#active();
    if (turnTokens !== null && this.#tokens >= turnTokens)
      return over(`turn has used its budget of ${turnTokens} tokens`);
    if (goal && isUsedUp(goal, this.#budgets)) return over('goal of the thread has used its budget');
    return this.#isLate ? over('time of the turn is used up') : undefined;
  }

  /** Calls `stop` when no time is left; the returned function keeps it from doing so. */
  onTime(startedAtMs: number, stop: () => void): () => void {
    const { turnSeconds, goalSeconds } = this.#budgets;
    const goal = this.#active();
    const sinceStart = Math.max(0, this.#clock.now() - startedAtMs);
    const left = [
      ...(turnSeconds === null ? [] : [turnSeconds * 1000 - sinceStart]),
      ...(goal === undefined || goalSeconds === null ? [] : [(goalSeconds - goal.timeUsedSeconds) * 1000]),
    ];
    if (left.length === 0) return () => {};
    return this.#clock.timer(Math.max(0, Math.min(...left)), () => {
      this.#isLate = true;
      stop();
    });
  }

  /** What the turn has cost its goal, for the end of the turn. */
  goalEvents(turnId: TurnId): ThreadEvent[] {
    const counted = this.#active();
    if (!counted) return [];
    const status = isUsedUp(counted, this.#budgets) ? 'budgetLimited' : counted.status;
    return [{ type: 'goalChanged', turnId, goal: { ...counted, status, updatedAt: seconds(this.#clock.now()) } }];
  }

  /** The goal with what this turn has cost so far. */
  #active(): Goal | undefined {
    const goal = this.#goal();
    if (goal?.status !== 'active') return undefined;
    const secondsUsed = Math.round((this.#clock.elapsed() - this.#beganAt) / 1000);
    return {
      ...goal,
      tokensUsed: goal.tokensUsed + this.#tokens,
      timeUsedSeconds: goal.timeUsedSeconds + secondsUsed,
    };
  }
}

function isUsedUp(goal: Goal, { goalTokens, goalSeconds }: Budgets): boolean {
  const tokens = goal.tokenBudget ?? goalTokens;
  return (
    (tokens !== null && goal.tokensUsed >= tokens) || (goalSeconds !== null && goal.timeUsedSeconds >= goalSeconds)
  );
}

const over = (what: string): TurnError => turnError(`the ${what}`, 'sessionBudgetExceeded');
