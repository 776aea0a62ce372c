// What the answer to a question means for the tool that asked: that it may go on, or that it may not and why.

import type { Answer } from '../approvals/ends.ts';
import type { Consent } from '../model/approval.ts';

export interface Refusal {
  readonly reason: string;
  /** The turn is to end, not only the call. */
  readonly endsTurn: boolean;
}

type Acceptance = Exclude<Consent, 'decline' | 'cancel'>;

export function consentOf(answer: Answer<Consent>): { readonly accepted: Acceptance } | { readonly refusal: Refusal } {
  if ('refusedBecause' in answer) return { refusal: { reason: answer.refusedBecause, endsTurn: false } };
  if (answer.decision === 'decline') return { refusal: { reason: 'rejected by user', endsTurn: false } };
  if (answer.decision === 'cancel') return { refusal: { reason: 'cancelled by user', endsTurn: true } };
  return { accepted: answer.decision };
}

/** What the backend is told of it. */
export const refusedAs = ({ reason, endsTurn }: Refusal) =>
  endsTurn ? ({ kind: 'cancelled' } as const) : ({ kind: 'refused', reason } as const);

/** Said when the effect that was accepted would be another one by now. */
export const noLongerShown = (what: 'run' | 'be changed'): Refusal => ({
  reason: `what would ${what} is no longer what was shown`,
  endsTurn: false,
});
