// Standing questions of the whole process: the first valid answer wins, everything unclear is a refusal.

import { randomInt } from 'node:crypto';
import type { Principal } from '../auth/principal.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { cancelledBy, deferred, onAbort } from '../base/signals.ts';
import type { Decision, Proposal, Resolution } from '../model/approval.ts';
import type { EventOf } from '../model/event.ts';
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
  /** Default: a random one, so that a late answer to a question of an earlier process meets no other question. */
  readonly firstRequestId?: number;
}

/** How one question ended for the tool that asked. */
export type Answer = { readonly decision: Decision } | { readonly refusedBecause: string };

interface Standing {
  readonly proposal: Proposal;
  readonly requestId: number;
  readonly ended: Promise<Resolution>;
  readonly settle: (resolution: Resolution) => void;
}

/** Ids begin below this, and so stay within 32 bits for clients that keep them so. */
const FIRST_IDS = 2 ** 30;

export class ApprovalBroker {
  readonly #standing = new Map<ApprovalId, Standing>();
  readonly #options: BrokerOptions;
  #nextRequestId: number;

  constructor(options: BrokerOptions) {
    this.#options = options;
    this.#nextRequestId = options.firstRequestId ?? randomInt(FIRST_IDS);
  }

  /** Lets a question that stands since before a restart be shown and answered, also before its turn has come to it again. */
  revive(proposal: Proposal): void {
    if (!this.#standing.has(proposal.id)) this.#register(proposal);
  }

  /** The ends of questions whose turn ends without coming to them again. */
  dismiss(proposals: readonly Proposal[]): EventOf<'approvalResolved'>[] {
    return proposals.flatMap(({ id, turnId }) => {
      const standing = this.#standing.get(id);
      if (!standing) return [];
      this.#standing.delete(id);
      const { requestId } = standing;
      return [{ type: 'approvalResolved', turnId, approvalId: id, requestId, resolution: { by: 'interrupt' } }];
    });
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
    if (!options.isStored && this.#options.unattended() === 'decline' && port.audience().length === 0) {
      return { refusedBecause: 'nobody is there to answer, and the server is set to decline then' };
    }
    const { requestId, ended, settle } = this.#standing.get(proposal.id) ?? this.#register(proposal);
    const release = [this.#expire(proposal, settle)];
    try {
      if (!options.isStored) {
        await port.append([{ type: 'approvalRequested', turnId: proposal.turnId, proposal, requestId }]);
      }
      release.push(onAbort(signal, () => settle({ by: 'interrupt' })));
      const resolution = await ended;
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
    // After a restart its turn may not have come to it again, and so not have set its time.
    if (this.#options.clock.now() >= standing.proposal.expiresAtMs) {
      standing.settle({ by: 'expiry' });
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

  #register(proposal: Proposal): Standing {
    const ended = deferred<Resolution>();
    const requestId = this.#nextRequestId++;
    const standing = { proposal, requestId, ended: ended.promise, settle: ended.resolve };
    this.#standing.set(proposal.id, standing);
    return standing;
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
