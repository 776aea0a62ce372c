// Standing questions of the whole process: the first valid answer wins, everything unclear is a refusal.

import { randomInt } from 'node:crypto';
import type { Principal } from '../auth/principal.ts';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { cancelledBy, onAbort } from '../base/signals.ts';
import type { Decision, DecisionOf, Proposal, Resolution } from '../model/approval.ts';
import type { EventOf } from '../model/event.ts';
import type { ApprovalId } from '../model/ids.ts';
import { type RawAnswer, readAnswer } from './answers.ts';
import { type Answer, hasEnded, isRefusal, noSuchQuestion, refusedBy } from './ends.ts';
import { type End, endUnclear, free, newStanding, type Standing, settle } from './standing.ts';
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

/** A question as the log has it. */
export interface Asked {
  readonly proposal: Pick<Proposal, 'id' | 'turnId' | 'nonce'>;
  /** Under which clients were asked when it was stored. */
  readonly requestId: number;
}

/** What an answer comes to. `forbidden`: not for this person to decide. */
type Judgement =
  | { readonly kind: 'counts'; readonly end: End }
  | { readonly kind: 'unclear' | 'forbidden'; readonly problem: string };

const INTERRUPTED = { by: 'interrupt' } as const;
const GONE = { by: 'interrupt', isGone: true } as const;

/** Ids begin below this, and so stay within 32 bits for clients that keep them so. */
const FIRST_IDS = 2 ** 30;

/** Of how many questions that have ended it is known that they were there. */
const REMEMBERED_ENDS = 1_000;

export class ApprovalBroker {
  readonly #standing = new Map<ApprovalId, Standing>();
  readonly #options: BrokerOptions;
  /** By id, the oldest first. */
  readonly #past = new Map<ApprovalId, { readonly nonce: string; readonly by: Resolution['by'] }>();
  #nextRequestId: number;

  constructor(options: BrokerOptions) {
    this.#options = options;
    this.#nextRequestId = options.firstRequestId ?? randomInt(FIRST_IDS);
  }

  /** Lets a question that stands since before a restart be shown and answered, also before its turn has come to it again. */
  revive(proposal: Proposal): void {
    if (!this.#standing.has(proposal.id)) this.#register(proposal);
  }

  /**
   * The ends of questions whose turn ends without coming to them again, or whose subject did not outlive its process (`isGone`);
   * those of an earlier process among them.
   */
  dismiss(questions: readonly Asked[], isGone = false): EventOf<'approvalResolved'>[] {
    return questions.map(({ proposal: { id, turnId, nonce }, requestId }) => {
      const standing = this.#standing.get(id);
      const resolution = isGone ? GONE : INTERRUPTED;
      if (standing) {
        this.#standing.delete(id);
        for (const release of standing.asked.values()) release();
        standing.isDismissed = true;
        settle(standing, { resolution });
        standing.stored.resolve(resolution);
      }
      this.#remember(id, { nonce, by: 'interrupt' });
      const current = standing?.requestId ?? requestId;
      return { type: 'approvalResolved', turnId, approvalId: id, requestId: current, resolution };
    });
  }

  /**
   * Stores the question, shows it to all subscribers and waits. The end is stored before this settles. Rejects as *cancelled* when
   * the signal aborts: as an interrupt the question is resolved, as a stop of the server it is left standing in the log. Once `gone`
   * settles there is nothing left to decide about: the question ends as an interrupted one, and who asked goes on.
   */
  async ask<P extends Proposal>(
    port: Pick<ThreadPort, 'append' | 'audience'>,
    proposal: P,
    signal: AbortSignal,
    options: { readonly isStored: boolean; readonly gone?: Promise<unknown> | undefined },
  ): Promise<Answer<DecisionOf<P['kind']>>> {
    if (!options.isStored && this.#options.unattended() === 'decline' && port.audience().length === 0) {
      return { refusedBecause: 'nobody is there to answer, and the server is set to decline then' };
    }
    const standing = this.#standing.get(proposal.id) ?? this.#register(proposal);
    const release = [this.#expire(standing)];
    try {
      if (!options.isStored) {
        const { requestId } = standing;
        await port.append([{ type: 'approvalRequested', turnId: proposal.turnId, proposal, requestId }]);
      }
      release.push(onAbort(signal, () => settle(standing, { resolution: INTERRUPTED })));
      void options.gone?.then(() => settle(standing, { resolution: GONE }));
      const end = await standing.ended.promise;
      if (standing.isDismissed) return { refusedBecause: refusedBy(GONE) };
      const { resolution, content } = end;
      if (resolution.by === 'interrupt' && isStop(signal)) throw cancelledBy(signal);
      await this.#conclude(port, standing, end);
      if (resolution.by === 'interrupt' && signal.aborted) throw cancelledBy(signal);
      if (resolution.by !== 'answer') return { refusedBecause: refusedBy(resolution) };
      // Answers are read by the kind of their proposal.
      const decision = resolution.decision as DecisionOf<P['kind']>;
      return content === undefined ? { decision } : { decision, content };
    } catch (error) {
      standing.stored.reject(error);
      throw error;
    } finally {
      this.#forget(standing);
      for (const each of release) each();
    }
  }

  /** The next of the process's ids, for a question to a client that is not an approval. */
  newRequestId(): number {
    return this.#nextRequestId++;
  }

  /** The id under which clients are asked, while the question stands. */
  requestIdOf(id: ApprovalId): number | undefined {
    return this.#standing.get(id)?.requestId;
  }

  /** This connection is asked too, until `left` or its signal aborts. */
  shown(id: ApprovalId, connection: string, signal: AbortSignal): void {
    const asked = this.#standing.get(id)?.asked;
    if (!asked || asked.has(connection)) return;
    asked.set(
      connection,
      onAbort(signal, () => this.left(id, connection)),
    );
  }

  /** This connection is gone or no longer listens. */
  left(id: ApprovalId, connection: string): void {
    const standing = this.#standing.get(id);
    if (standing && free(standing, connection)) endUnclear(standing);
  }

  /**
   * Every answer over a connection that was asked ends here. One to a question that has ended does nothing; one that does not count
   * is a refusal, unless others have been asked who may still give one that does.
   */
  answered(id: ApprovalId, answer: RawAnswer, by: Principal, connection: string): void {
    const standing = this.#standing.get(id);
    if (!standing) return;
    if (!by.permissions.has('approval:resolve')) {
      this.#options.log.warn(
        { approvalId: id, subject: by.subject },
        'an answer without the permission approval:resolve was ignored',
      );
      return;
    }
    const judgement = this.#judge(standing, answer, by);
    if (judgement.kind === 'counts') {
      settle(standing, judgement.end);
      return;
    }
    const { kind, problem } = judgement;
    const isInWords = standing.proposal.kind === 'userInput' || standing.proposal.kind === 'elicitation';
    const what = isInWords ? 'An answer does not count' : 'An approval was refused';
    standing.unclear = { resolution: { by: 'badAnswer', problem }, warning: `${what}: ${problem}.` };
    free(standing, connection);
    if (kind === 'forbidden') settle(standing, standing.unclear);
    else if (!endUnclear(standing))
      this.#options.log.warn(
        { approvalId: id, subject: by.subject, problem },
        'an answer is unclear; others are asked',
      );
  }

  /**
   * An answer from elsewhere, by somebody who may see the thread and resolve approvals. Settles when the end is stored. What is unclear or not for
   * this person leaves the question as it is: rejects as *invalid* or *forbidden*; as *notFound* when there is no such question, as
   * *conflict* when it has ended otherwise.
   */
  async resolve(
    id: ApprovalId,
    answer: { readonly nonce: string; readonly result: unknown },
    by: Principal,
  ): Promise<Resolution> {
    const standing = this.#standing.get(id);
    if (!standing) throw this.#endOf(id, answer.nonce);
    if (standing.proposal.nonce !== answer.nonce) {
      const kind = { kind: 'wrong_nonce', approvalId: id };
      throw new AppError(
        'conflict',
        'the nonce is not that of the question: read it again before it is answered',
        kind,
      );
    }
    const judgement = this.#judge(standing, { result: answer.result }, by);
    if (judgement.kind !== 'counts') {
      const kind = judgement.kind === 'forbidden' ? 'forbidden' : 'invalid';
      throw new AppError(kind, judgement.problem, { approvalId: id });
    }
    const isFirst = settle(standing, judgement.end);
    const resolution = await standing.stored.promise;
    if (!isFirst || resolution.by !== 'answer') throw hasEnded(id, resolution);
    return resolution;
  }

  #judge({ proposal }: Standing, raw: RawAnswer, by: Principal): Judgement {
    // After a restart its turn may not have come to it again, and so not have set its time.
    if (this.#options.clock.now() >= proposal.expiresAtMs) {
      return { kind: 'counts', end: { resolution: { by: 'expiry' } } };
    }
    const read = readAnswer(proposal, raw);
    if ('problem' in read) return { kind: 'unclear', problem: read.problem };
    const barred = this.#barred(read.decision, by, proposal);
    if (barred !== undefined) return { kind: 'forbidden', problem: barred };
    const { decision, content } = read;
    const end = { resolution: { by: 'answer' as const, decision, subject: by.subject }, content };
    if (read.leftOut === undefined) return { kind: 'counts', end };
    const warning = `An answer went beyond what was asked; this part of it does not count: ${read.leftOut}`;
    return { kind: 'counts', end: { ...end, warning } };
  }

  /** Why a decision is beyond what this person may decide. */
  #barred(decision: Decision, by: Principal, proposal: Proposal): string | undefined {
    if (isRefusal(decision)) return undefined;
    const isRule = typeof decision === 'object' && 'acceptWithExecpolicyAmendment' in decision;
    if ((isRule || decision === 'acceptAlways') && !by.permissions.has('admin'))
      return 'remembering a rule needs the permission admin';
    return this.#options.mayAccept(by, proposal);
  }

  #register(proposal: Proposal): Standing {
    const standing = newStanding(proposal, this.newRequestId());
    this.#standing.set(proposal.id, standing);
    return standing;
  }

  #forget({ proposal: { id, nonce }, asked, end }: Standing): void {
    if (!this.#standing.delete(id)) return;
    for (const release of asked.values()) release();
    this.#remember(id, { nonce, by: end?.resolution.by ?? 'interrupt' });
  }

  #remember(id: ApprovalId, end: { readonly nonce: string; readonly by: Resolution['by'] }): void {
    this.#past.set(id, end);
    const [oldest] = this.#past.keys();
    if (this.#past.size > REMEMBERED_ENDS && oldest !== undefined) this.#past.delete(oldest);
  }

  /** Only who was shown the question learns that there was one. */
  #endOf(id: ApprovalId, nonce: string): AppError {
    const past = this.#past.get(id);
    return past?.nonce === nonce ? hasEnded(id, past) : noSuchQuestion(id);
  }

  async #conclude(port: Pick<ThreadPort, 'append'>, standing: Standing, { resolution, warning }: End): Promise<void> {
    const { proposal, requestId } = standing;
    const { turnId } = proposal;
    const resolved = { type: 'approvalResolved' as const, turnId, approvalId: proposal.id, requestId, resolution };
    const ofTurn = turnId || null;
    const told = warning === undefined ? [] : [{ type: 'warned' as const, turnId: ofTurn, message: warning }];
    await port.append([resolved, ...told]);
    standing.stored.resolve(resolution);
  }

  #expire(standing: Standing): () => void {
    const { clock } = this.#options;
    const left = Math.max(0, standing.proposal.expiresAtMs - clock.now());
    return clock.timer(left, () => settle(standing, { resolution: { by: 'expiry' } }));
  }
}

/** The reason with which running work is stopped when the server stops. */
export const SERVER_STOPS = 'serverStops';

function isStop(signal: AbortSignal): boolean {
  return signal.reason === SERVER_STOPS;
}
