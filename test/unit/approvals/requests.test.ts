// What people are offered about a proposal, and which of their answers count.

import { describe, expect, test } from 'vitest';
import { readAnswer } from '../../../src/approvals/answers.ts';
import { availableDecisions, commandApprovalParams } from '../../../src/approvals/questions.ts';
import { commandApproval } from '../../../src/approvals/requests.ts';
import type { Proposal, ProposalOf } from '../../../src/model/approval.ts';
import { fc } from '../../harness/chance.ts';

const EVERYBODY = { mayRemember: true };

/** The decision, or what is wrong with the answer. */
function readDecision(proposal: Proposal, answer: { readonly result?: unknown; readonly error?: unknown }) {
  const read = readAnswer(proposal, answer);
  return 'problem' in read ? read : read.decision;
}

const proposal = (members: Partial<ProposalOf<'command'>> = {}): ProposalOf<'command'> => ({
  id: 'approval-1',
  kind: 'command',
  turnId: 'turn-1',
  itemId: 'item-1',
  callId: 'call-1',
  command: 'git push',
  argv: ['/bin/bash', '-lc', 'git push'],
  cwd: '/w',
  commandActions: [{ type: 'unknown', command: 'git push' }],
  reason: null,
  amendment: ['git', 'push'],
  sandbox: 'sandboxed',
  operationDigest: 'o',
  policyDigest: 'p',
  workspaceDigest: 'w',
  nonce: 'n',
  startedAtMs: 1,
  expiresAtMs: 5_999,
  ...members,
});

const AMENDMENT = { acceptWithExecpolicyAmendment: { execpolicy_amendment: ['git', 'push'] } };

describe('what is offered', () => {
  test('can all be answered', () => {
    for (const sandbox of ['sandboxed', 'bare', 'unavailable'] as const) {
      const each = proposal({ sandbox });
      for (const decision of availableDecisions(each, EVERYBODY) ?? [])
        expect(readDecision(each, { result: { decision } })).toEqual(decision);
    }
  });

  test('without a sandbox is nothing that lasts', () => {
    const each = proposal({ sandbox: 'unavailable' });
    expect(availableDecisions(each, EVERYBODY)).toEqual(['accept', 'decline', 'cancel']);
    for (const decision of ['acceptForSession', AMENDMENT])
      expect(readDecision(each, { result: { decision } })).toHaveProperty('problem');
  });

  test('fits the schema of the question, and its time is in seconds', () => {
    for (const reason of [null, 'because']) {
      const params = commandApproval.params().parse(commandApprovalParams('thread-1', proposal({ reason }), EVERYBODY));
      expect(params.reason).toBe(reason ?? undefined);
      expect(params.heddle.expiresAt).toBe(5);
    }
  });
});

test('a reason in other words, or members beside the decision, change nothing', () => {
  expect(readDecision(proposal(), { result: { decision: 'accept', note: 'fine' } })).toBe('accept');
});

test('no other answer than those offered ever counts', () => {
  const offered = (availableDecisions(proposal(), EVERYBODY) ?? []).map((each) => JSON.stringify(each));
  const words = fc.constantFrom('accept', 'Accept', 'approved', 'acceptForTurn', 'yes', 'decline', '', AMENDMENT);
  const answers = fc.oneof(
    fc.record({ decision: fc.oneof(words, fc.anything()) }),
    fc.record({ result: words }),
    fc.anything(),
  );
  fc.assert(
    fc.property(answers, (result) => {
      const read = readDecision(proposal(), { result });
      const isRefusal = typeof read === 'object' && 'problem' in read;
      if (isRefusal) expect(read.problem).not.toBe('');
      else {
        expect(offered).toContain(JSON.stringify(read));
        expect((result as { decision: unknown }).decision).toEqual(read);
      }
    }),
    { numRuns: 2000 },
  );
});

test('an error is a refusal, also beside a result', () => {
  expect(readDecision(proposal(), { error: null })).toHaveProperty('problem');
  expect(readDecision(proposal(), { error: { code: 1 }, result: { decision: 'accept' } })).toHaveProperty('problem');
});
