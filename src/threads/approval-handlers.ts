// Standing questions of all threads: listed, and answered from anywhere.

import type { ApprovalBroker } from '../approvals/broker.ts';
import { approvalMethods } from '../approvals/methods.ts';
import { approvalRequest, availableDecisions } from '../approvals/questions.ts';
import type { Principal } from '../auth/principal.ts';
import { AppError } from '../base/errors.ts';
import type { Proposal } from '../model/approval.ts';
import type { ThreadId } from '../model/ids.ts';
import type { ResultInput } from '../rpc/declare.ts';
import { implement, type Route } from '../rpc/router.ts';
import type { ThreadRegistry } from './registry.ts';

export interface ApprovalHandlerParts {
  readonly registry: ThreadRegistry;
  readonly broker: ApprovalBroker;
  /** Settles when the questions of the tenant that stand since before a restart are among those that stand. */
  readonly recovered: (tenant: string) => Promise<void>;
}

type Pending = ResultInput<typeof approvalMethods.approvalPending>['data'][number];

const PAGE = 50;

export function approvalHandlers({ registry, broker, recovered }: ApprovalHandlerParts): Route[] {
  /** With a number: those that are on their way to the disk, or have just ended, are none yet or any more. */
  const standing = async ({ tenant }: Principal): Promise<Asked[]> => {
    await recovered(tenant);
    return questionsOf(registry, tenant).filter(({ proposal }) => broker.requestIdOf(proposal.id) !== undefined);
  };
  return implement(approvalMethods, {
    approvalPending: async ({ threadId, cursor, limit }, { session }) => {
      const { principal } = session;
      const all = (await standing(principal))
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
      await recovered(principal.tenant);
      const asked = questionsOf(registry, principal.tenant).find(({ proposal }) => proposal.id === approvalId);
      const isOfOthers = !asked && broker.requestIdOf(approvalId) !== undefined;
      if (isOfOthers) throw new AppError('notFound', `approval not found: ${approvalId}`, { approvalId });
      const kind = asked?.proposal.kind;
      const result = kind === 'permissions' || kind === 'userInput' ? decision : { decision };
      await broker.resolve(approvalId, { nonce, result }, principal);
      return { approvalId, threadId: asked?.threadId ?? '', status: 'answered' as const };
    },
  });
}

interface Asked {
  readonly threadId: ThreadId;
  readonly proposal: Proposal;
}

/** A thread with a question stays loaded. */
function questionsOf(registry: ThreadRegistry, tenant: string): Asked[] {
  return registry
    .loadedIds(tenant)
    .flatMap((threadId) =>
      (registry.find(tenant, threadId)?.questions ?? []).map((proposal) => ({ threadId, proposal })),
    );
}

/** Questions keep their places however many come and go meanwhile. */
const keyOf = ({ proposal: { startedAtMs, id } }: Asked): string => `${String(startedAtMs).padStart(16, '0')}-${id}`;

function pendingOf({ threadId, proposal }: Asked, principal: Principal): Pending {
  const recipient = { mayRemember: principal.permissions.has('admin') };
  const { method, params } = approvalRequest(threadId, proposal, recipient);
  const decisions = availableDecisions(proposal, recipient);
  return {
    approvalId: proposal.id,
    threadId,
    turnId: proposal.turnId,
    itemId: proposal.itemId,
    kind: proposal.kind,
    nonce: proposal.nonce,
    requestedAtMs: proposal.startedAtMs,
    expiresAt: Math.floor(proposal.expiresAtMs / 1000),
    ...(decisions ? { availableDecisions: decisions } : {}),
    method,
    params: { ...params },
  };
}
