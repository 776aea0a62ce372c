// Questions of the MCP servers of a thread, as questions like all others: kept, shown to everyone who may answer, ended once.

import { policyDigests } from '../agent/evidence.ts';
import type { ApprovalBroker } from '../approvals/broker.ts';
import { mayElicit } from '../approvals/rules.ts';
import type { ThreadPort } from '../approvals/thread-port.ts';
import { fingerprint } from '../base/canonical.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { deferred, onAbort } from '../base/signals.ts';
import { DECLINED, type ElicitationAnswer, UNANSWERED } from '../mcp/elicitation.ts';
import type { Elicited } from '../mcp/open-questions.ts';
import type { ProposalOf } from '../model/approval.ts';
import { type ItemId, newId, type ThreadId } from '../model/ids.ts';
import type { ThreadSettings } from '../model/thread.ts';
import type { OpenTurn } from './state.ts';

export interface ElicitationParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly tools: { readonly broker: ApprovalBroker; readonly approvalLifeMs: () => number };
}

/** The thread whose connection the server has. */
export interface AskedThread extends Pick<ThreadPort, 'append' | 'audience'> {
  readonly threadId: ThreadId;
  settings(): ThreadSettings;
  /** With everything accepted. */
  turn(): OpenTurn | null;
}

/** It is ended by `gone`, never as an interrupt that its turn would have to follow. */
const NEVER = new AbortController().signal;

export class Elicitations {
  readonly #parts: ElicitationParts;
  readonly #thread: AskedThread;
  readonly #standing = new Set<Promise<unknown>>();
  readonly #end = new AbortController();

  constructor(parts: ElicitationParts, thread: AskedThread) {
    this.#parts = parts;
    this.#thread = thread;
  }

  /** Declined where the thread is never to ask, and wherever nobody has given an answer that counts. Never rejects. */
  async ask(server: string, elicited: Elicited): Promise<ElicitationAnswer> {
    const signal = AbortSignal.any([elicited.signal, this.#end.signal]);
    if (!mayElicit(this.#thread.settings().approvalPolicy) || signal.aborted) return DECLINED;
    const answer = this.#ask(this.#proposalFor(server, elicited), signal);
    this.#standing.add(answer);
    try {
      return await answer;
    } catch (error) {
      this.#parts.log.error(
        { err: error, threadId: this.#thread.threadId, server },
        'a question of an MCP server could not be asked',
      );
      return DECLINED;
    } finally {
      this.#standing.delete(answer);
    }
  }

  /** Ends those that stand, and lets no more begin; settles when that is on disk. */
  async end(): Promise<void> {
    this.#end.abort();
    await Promise.allSettled(this.#standing);
  }

  async #ask(proposal: ProposalOf<'elicitation'>, signal: AbortSignal): Promise<ElicitationAnswer> {
    const gone = deferred();
    const free = onAbort(signal, gone.resolve);
    try {
      const options = { isStored: false, gone: gone.promise };
      const answer = await this.#parts.tools.broker.ask(this.#thread, proposal, NEVER, options);
      if ('refusedBecause' in answer) return UNANSWERED;
      const { action } = answer.decision;
      return answer.content === undefined ? { action } : { action, content: answer.content };
    } finally {
      free();
    }
  }

  #proposalFor(server: string, { question, calls }: Elicited): ProposalOf<'elicitation'> {
    const { clock, tools } = this.#parts;
    const settings = this.#thread.settings();
    const now = clock.now();
    return {
      ...{ id: newId(), kind: 'elicitation', server, question },
      ...this.#placeOf(calls),
      callId: '',
      cwd: settings.cwd,
      reason: null,
      operationDigest: fingerprint({ server, question }),
      ...policyDigests(settings),
      nonce: newId(),
      startedAtMs: now,
      expiresAtMs: now + tools.approvalLifeMs(),
    };
  }

  /** What a client's own calls ask does not end with a turn that happens to run; what is asked without any call may. */
  #placeOf(calls: Elicited['calls']): { readonly turnId: string; readonly itemId: ItemId } {
    const turn = this.#thread.turn();
    const items = calls.filter((itemId) => itemId !== undefined);
    if (!turn || (calls.length > 0 && items.length === 0)) return { turnId: '', itemId: '' };
    const [only] = calls;
    return { turnId: turn.id, itemId: calls.length === 1 && only !== undefined ? only : '' };
  }
}
