// What turns may cost, as configured.

import type { Config } from './schema.ts';

/** Null: as much as it takes. */
export interface Budgets {
  readonly turnTokens: number | null;
  readonly turnSeconds: number | null;
  /** Of goals that name none of their own. */
  readonly goalTokens: number | null;
  readonly goalSeconds: number | null;
}

export function budgetsOf({ budgets }: Config): Budgets {
  return {
    turnTokens: budgets.turn_tokens,
    turnSeconds: budgets.turn_seconds,
    goalTokens: budgets.goal_tokens,
    goalSeconds: budgets.goal_seconds,
  };
}
