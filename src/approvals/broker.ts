// Standing questions of the whole process: the first valid answer wins, everything unclear is a refusal.

import type { Principal } from '../auth/principal.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { cancelledBy, deferred, onAbort } from '../base/signals.ts';
import type { Decision, Proposal, Resolution } from '../model/approval.ts';
import type { ApprovalId } from '../model/ids.ts';
import { readDecision } from './requests.ts';
import type { ThreadPort } from './thread-port.ts';

export interface BrokerOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** What to do when nobody is listening: leave the question standing, or refuse. */
  readonly unattended: () => 'wait' | 'decline';
  /** Why this person's acceptance does not count, if it does not: a refusal then. */
  readonly mayAccept: (by: Principal, proposal: Proposal) => string | undefined;
}

/** How one question ended for the tool that asked. */
export type Answer = { readonly decision: Decision } | { readonly refusedBecause: string };

interface Standing {
  readonly proposal: Proposal;
  readonly requestId: number;
  readonly port: ThreadPort;
  readonly settle: (resolution: Resolution) => void;
}

export class ApprovalBroker {
  readonly #standing = new Map<ApprovalId, Standing>();
  readonly #options: BrokerOptions;
  #nextRequestId = 0;

  constructor(options: BrokerOptions) {
    this.#options = options;
  }

  /**
   * Stores the question, shows it to all subscribers and waits. The end is stored before this settles. Rejects as *cancelled* when
   * the signal aborts: as an interrupt the question is resolved, as a stop of the server it is left standing in the log.
   */
  async ask(
    port: ThreadPort,
    proposal: Proposal,
    signal: AbortSignal,
    options: { readonly isStored: boolean },
  ): Promise<Answer> {
    const requestId = this.#nextRequestId++;
    if (!options.isStored && this.#options.unattended() === 'decline' && port.audience().length === 0) {
      return { refusedBecause: 'nobody is there to answer, and the server is set to decline then' };
    }
    const ended = deferred<Resolution>();
    this.#standing.set(proposal.id, { proposal, requestId, port, settle: ended.resolve });
    const release = [this.#expire(proposal, ended.resolve)];
    try {
      if (!options.isStored) {
        await port.append([{ type: 'approvalRequested', turnId: proposal.turnId, proposal, requestId }]);
      }
      release.push(onAbort(signal, () => ended.resolve({ by: 'interrupt' })));
      const resolution = await ended.promise;
      if (resolution.by === 'interrupt' && isStop(signal)) throw cancelledBy(signal);
      await this.#conclude(port, proposal, requestId, resolution);
      if (resolution.by === 'interrupt') throw cancelledBy(signal);
      return answerOf(resolution);
    } finally {
      this.#standing.delete(proposal.id);
      for (const each of release) each();
    }
  }

  /** The id under which clients are asked, while the question stands. */
  requestIdOf(id: ApprovalId): number | undefined {
    return this.#standing.get(id)?.requestId;
  }

  /** Every answer of a client ends here. One to a question that has ended does nothing. */
  answered(id: ApprovalId, answer: { readonly result?: unknown; readonly error?: unknown }, by: Principal): void {
    const standing = this.#standing.get(id);
    if (!standing) return;
    if (!by.permissions.has('approval:resolve')) {
      this.#options.log.warn(
        { approvalId: id, subject: by.subject },
        'an answer without the permission approval:resolve was ignored',
      );
      return;
    }
    const decision = readDecision(standing.proposal, answer);
    const problem = typeof decision === 'object' && 'problem' in decision ? decision.problem : undefined;
    const barred = problem ?? this.#barred(decision as Decision, by, standing.proposal);
    if (barred !== undefined) standing.settle({ by: 'badAnswer', problem: barred });
    else standing.settle({ by: 'answer', decision: decision as Decision, subject: by.subject });
  }

  /** Why a decision is beyond what this person may decide. */
  #barred(decision: Decision, by: Principal, proposal: Proposal): string | undefined {
    if (decision === 'decline' || decision === 'cancel') return undefined;
    if (typeof decision === 'object' && !by.permissions.has('admin'))
      return 'remembering a rule needs the permission admin';
    return this.#options.mayAccept(by, proposal);
  }

  async #conclude(port: ThreadPort, proposal: Proposal, requestId: number, resolution: Resolution): Promise<void> {
    const { turnId } = proposal;
    const resolved = { type: 'approvalResolved' as const, turnId, approvalId: proposal.id, requestId, resolution };
    const warning =
      resolution.by === 'badAnswer'
        ? [{ type: 'warned' as const, turnId, message: `An approval was refused: ${resolution.problem}.` }]
        : [];
    await port.append([resolved, ...warning]);
  }

  #expire(proposal: Proposal, settle: (resolution: Resolution) => void): () => void {
    const { clock } = this.#options;
    return clock.timer(Math.max(0, proposal.expiresAtMs - clock.now()), () => settle({ by: 'expiry' }));
  }
}

/** The reason with which running work is stopped when the server stops. */
export const SERVER_STOPS = 'serverStops';

function isStop(signal: AbortSignal): boolean {
  return signal.reason === SERVER_STOPS;
}

function answerOf(resolution: Resolution): Answer {
  switch (resolution.by) {
    case 'answer':
      return { decision: resolution.decision };
    case 'expiry':
      return { refusedBecause: 'the question expired without an answer' };
    case 'badAnswer':
      return { refusedBecause: resolution.problem };
    case 'policy':
      return { refusedBecause: resolution.reason };
    case 'interrupt':
      return { refusedBecause: 'the turn was interrupted' };
  }
}
