// How questions end: what that means for who asked, and how it is told to who answers too late.

import { AppError } from '../base/errors.ts';
import type { Decision, Resolution } from '../model/approval.ts';
import type { ElicitationContent } from '../model/elicitation.ts';
import type { ApprovalId } from '../model/ids.ts';

/** How one question ended for the tool that asked. */
export type Answer<D = Decision> =
  /** `content`: what was filled in; it is kept nowhere. */
  { readonly decision: D; readonly content?: ElicitationContent } | { readonly refusedBecause: string };

/** It lets nothing happen. */
export function isRefusal(decision: Decision): boolean {
  if (typeof decision === 'string') return decision === 'decline' || decision === 'cancel';
  if ('action' in decision) return decision.action !== 'accept';
  if (!('permissions' in decision)) return false;
  const { network, read, write } = decision.permissions;
  return !network && read.length === 0 && write.length === 0;
}

export const noSuchQuestion = (approvalId: ApprovalId): AppError =>
  new AppError('notFound', `approval not found: ${approvalId}`, { approvalId });

const HOW: Readonly<Record<Resolution['by'], string>> = {
  answer: 'answered',
  badAnswer: 'answered',
  interrupt: 'interrupted',
  expiry: 'expired',
  policy: 'refused',
};

export function hasEnded(approvalId: ApprovalId, resolution?: Pick<Resolution, 'by'>): AppError {
  const how = resolution && HOW[resolution.by];
  const data = { kind: 'approval_ended', approvalId, ...(how ? { endedBy: how } : {}) };
  return new AppError('conflict', `the question has ended already${how ? `: it was ${how}` : ''}`, data);
}

/** What the tool that asked is told. */
export function refusedBy(resolution: Exclude<Resolution, { by: 'answer' }>): string {
  switch (resolution.by) {
    case 'expiry':
      return 'the question expired without an answer';
    case 'badAnswer':
      return resolution.problem;
    case 'policy':
      return resolution.reason;
    case 'interrupt':
      return 'what it was about was gone before there was an answer';
  }
}
