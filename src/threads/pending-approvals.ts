// The questions of threads that stand, as they are told to those who may answer them.

import type { ApprovalBroker } from '../approvals/broker.ts';
import { approvalRequest, availableDecisions, toolDecisions } from '../approvals/questions.ts';
import type { Principal } from '../auth/principal.ts';
import type { PendingApproval, Proposal } from '../model/approval.ts';
import type { ThreadId } from '../model/ids.ts';
import type { ThreadRegistry } from './registry.ts';

export interface PendingParts {
  readonly registry: ThreadRegistry;
  readonly broker: ApprovalBroker;
  /** Settles when the questions of the tenant that stand since before a restart are among those that stand. */
  readonly recovered: (tenant: string) => Promise<void>;
}

export interface Asked {
  readonly threadId: ThreadId;
  readonly proposal: Proposal;
}

export class PendingApprovals {
  readonly #parts: PendingParts;

  constructor(parts: PendingParts) {
    this.#parts = parts;
  }

  /** Of all threads of the tenant, in no order. */
  async standing({ tenant }: Principal): Promise<Asked[]> {
    await this.#parts.recovered(tenant);
    return this.asked(tenant).filter((each) => this.#stands(each));
  }

  /** Also those that are on their way to the disk, or have just ended. A thread with a question stays loaded. */
  asked(tenant: string): Asked[] {
    return this.#parts.registry.loadedIds(tenant).flatMap((threadId) => this.#askedOf(tenant, threadId));
  }

  /** Until this settles, a thread that waits since before a restart may not be loaded yet. */
  ready({ tenant }: Principal): Promise<void> {
    return this.#parts.recovered(tenant);
  }

  /** Of one thread, the oldest first; nothing for those who may not answer. */
  told(principal: Principal, threadId: ThreadId): { readonly pendingApprovals?: PendingApproval[] } {
    if (!principal.permissions.has('approval:resolve')) return {};
    const standing = this.#askedOf(principal.tenant, threadId).filter((each) => this.#stands(each));
    return { pendingApprovals: standing.map((each) => pendingOf(each, principal)) };
  }

  #askedOf(tenant: string, threadId: ThreadId): Asked[] {
    const questions = this.#parts.registry.find(tenant, threadId)?.questions ?? [];
    return questions.map((proposal) => ({ threadId, proposal }));
  }

  #stands({ proposal }: Asked): boolean {
    return this.#parts.broker.requestIdOf(proposal.id) !== undefined;
  }
}

export function pendingOf({ threadId, proposal }: Asked, principal: Principal): PendingApproval {
  const recipient = { mayRemember: principal.permissions.has('admin') };
  const { method, params } = approvalRequest(threadId, proposal, recipient);
  const decisions =
    proposal.kind === 'mcpToolCall' ? toolDecisions(proposal, recipient) : availableDecisions(proposal, recipient);
  return {
    approvalId: proposal.id,
    threadId,
    turnId: proposal.turnId || null,
    itemId: proposal.itemId || null,
    kind: proposal.kind,
    nonce: proposal.nonce,
    requestedAtMs: proposal.startedAtMs,
    expiresAt: Math.floor(proposal.expiresAtMs / 1000),
    ...(decisions ? { availableDecisions: [...decisions] } : {}),
    method,
    params: { ...params },
  };
}
