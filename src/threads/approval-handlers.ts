// Standing questions of all threads: listed, and answered from anywhere.

import type { ApprovalBroker } from '../approvals/broker.ts';
import { approvalMethods } from '../approvals/methods.ts';
import { AppError } from '../base/errors.ts';
import type { Proposal } from '../model/approval.ts';
import { implement, type Route } from '../rpc/router.ts';
import { type Asked, type PendingApprovals, pendingOf } from './pending-approvals.ts';

const PAGE = 50;

export function approvalHandlers(pending: PendingApprovals, broker: ApprovalBroker): Route[] {
  return implement(approvalMethods, {
    approvalPending: async ({ threadId, cursor, limit }, { session }) => {
      const { principal } = session;
      const all = (await pending.standing(principal))
        .filter((asked) => threadId === undefined || threadId === null || asked.threadId === threadId)
        .map((asked) => ({ ...asked, key: keyOf(asked) }))
        .filter(({ key }) => cursor === undefined || cursor === null || key > cursor)
        .sort((one, other) => (one.key < other.key ? -1 : 1));
      const page = all.slice(0, limit ?? PAGE);
      return {
        data: page.map((asked) => pendingOf(asked, principal)),
        nextCursor: page.length < all.length ? (page.at(-1)?.key ?? null) : null,
      };
    },
    approvalResolve: async ({ approvalId, nonce, decision }, { session }) => {
      const { principal } = session;
      await pending.ready(principal);
      const asked = pending.asked(principal.tenant).find(({ proposal }) => proposal.id === approvalId);
      const isOfOthers = !asked && broker.requestIdOf(approvalId) !== undefined;
      if (isOfOthers) throw new AppError('notFound', `approval not found: ${approvalId}`, { approvalId });
      const result = resultOf(asked?.proposal.kind, decision);
      await broker.resolve(approvalId, { nonce, result }, principal);
      return { approvalId, threadId: asked?.threadId ?? '', status: 'answered' as const };
    },
  });
}

/** As a client that was asked over its connection would answer. */
function resultOf(kind: Proposal['kind'] | undefined, decision: unknown): unknown {
  if (kind === 'elicitation') return typeof decision === 'string' ? { action: decision } : decision;
  return kind === 'permissions' || kind === 'userInput' ? decision : { decision };
}

/** Questions keep their places however many come and go meanwhile. */
const keyOf = ({ proposal: { startedAtMs, id } }: Asked): string => `${String(startedAtMs).padStart(16, '0')}-${id}`;
