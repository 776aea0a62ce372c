// A model asks people something: shown as a question that stands until somebody answers, and told to it as they answered.

import type { TurnPort } from '../approvals/thread-port.ts';
import { fingerprint } from '../base/canonical.ts';
import type { ProposalOf, UserQuestion } from '../model/approval.ts';
import { type ItemId, newId } from '../model/ids.ts';
import type { UserReply } from './backend.ts';
import { policyDigests } from './evidence.ts';
import type { ToolParts } from './tools.ts';

/** Rejects as *cancelled* when the signal aborts. */
export async function askUser(
  port: TurnPort,
  parts: ToolParts,
  callId: ItemId,
  questions: readonly UserQuestion[],
  signal: AbortSignal,
): Promise<UserReply> {
  const standing = port.standing(callId)?.proposal;
  const isStored = standing?.kind === 'userInput';
  const proposal = isStored ? standing : proposalFor(port, parts, callId, questions);
  const answer = await parts.broker.ask(port, proposal, signal, { isStored });
  return 'refusedBecause' in answer ? { answers: {}, unansweredBecause: answer.refusedBecause } : answer.decision;
}

function proposalFor(
  port: TurnPort,
  parts: ToolParts,
  callId: ItemId,
  questions: readonly UserQuestion[],
): ProposalOf<'userInput'> {
  const settings = port.settings();
  const now = parts.clock.now();
  return {
    id: newId(),
    kind: 'userInput',
    turnId: port.turnId,
    itemId: callId,
    callId,
    cwd: settings.cwd,
    reason: null,
    questions: [...questions],
    operationDigest: fingerprint({ questions }),
    ...policyDigests(settings),
    nonce: newId(),
    startedAtMs: now,
    expiresAtMs: now + parts.approvalLifeMs(),
  };
}
