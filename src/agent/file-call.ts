// One call that changes files: worked out, allowed or asked about, worked out again, and done as a whole or not at all.

import type { Verdict } from '../approvals/rules.ts';
import type { TurnPort } from '../approvals/thread-port.ts';
import { fingerprint } from '../base/canonical.ts';
import { isAppError, messageOf } from '../base/errors.ts';
import type { Mailbox } from '../base/mailbox.ts';
import { throwIfAborted } from '../base/signals.ts';
import { changeFiles } from '../fs/file-set.ts';
import type { Commits } from '../fs/replacement.ts';
import type { ProposalOf } from '../model/approval.ts';
import type { ThreadEvent } from '../model/event.ts';
import { type ItemId, newId } from '../model/ids.ts';
import type { ItemOf } from '../model/item.ts';
import type { ChangeResult } from './backend.ts';
import { consentOf, noLongerShown, type Refusal, refusedAs } from './consent.ts';
import { isPolicyAsShown, policyDigests } from './evidence.ts';
import { type FileChange, PatchProblem } from './patch/change.ts';
import { type FilePlan, planChanges } from './patch/plan.ts';
import { reachOf } from './patch/reach.ts';
import type { TurnDiff } from './patch/turn-diff.ts';
import { permissionsOf } from './permissions.ts';
import type { ToolParts } from './tools.ts';
import { changeDigest, decideFiles } from './verdicts.ts';

type FileItem = ItemOf<'fileChange'>;
type FileProposal = ProposalOf<'fileChange'>;

/** What all calls of a turn that change files share. */
export interface FileCallParts {
  readonly tools: ToolParts & { readonly commits: Commits };
  readonly diff: TurnDiff;
  /** One call at a time works out its changes and makes them; questions are waited for outside of it. */
  readonly lane: Mailbox;
  /** Hears which diff of the turn is told. */
  readonly told: (diff: string) => void;
}

export class FileChangeCall {
  readonly #port: TurnPort;
  readonly #parts: FileCallParts;
  readonly #changes: readonly FileChange[];
  readonly #signal: AbortSignal;

  constructor(port: TurnPort, parts: FileCallParts, changes: readonly FileChange[], signal: AbortSignal) {
    this.#port = port;
    this.#parts = parts;
    this.#changes = changes;
    this.#signal = signal;
  }

  async run(wanted: ItemId): Promise<ChangeResult> {
    const begun = await this.#parts.lane.run(() => this.#begin(wanted));
    return 'kind' in begun ? begun : this.#ask(begun.item, begun.proposal, false);
  }

  /** After a restart: the question stands, and its answer decides. */
  goOn(item: FileItem, proposal: FileProposal): Promise<ChangeResult> {
    return this.#ask(item, proposal, true);
  }

  /** Does what needs no question. What does not fit is no item, as in the reference: only the model hears of it. */
  async #begin(wanted: ItemId): Promise<ChangeResult | { readonly item: FileItem; readonly proposal: FileProposal }> {
    throwIfAborted(this.#signal);
    const plan = await this.#plan();
    if ('problem' in plan) return { kind: 'unfit', problem: plan.problem };
    const verdict = this.#decide(plan);
    if (verdict.decision === 'deny') return this.#deny(plan, verdict.rule);
    const item = this.#newItem(await this.#port.uniqueItemId(wanted, 'call'), plan);
    await this.#store([{ type: 'itemStarted', turnId: this.#port.turnId, item }]);
    if (verdict.decision === 'allow') return this.#effect(item, plan);
    return { item, proposal: this.#proposalFor(item, wanted, plan, verdict.rule) };
  }

  async #plan(): Promise<FilePlan | { readonly problem: string }> {
    const settings = this.#port.settings();
    try {
      const reach = await reachOf(settings, this.#parts.tools.hidden, this.#port.isCapped(), permissionsOf(this.#port));
      return await planChanges(this.#changes, settings.cwd, reach);
    } catch (error) {
      if (error instanceof PatchProblem) return { problem: error.message };
      throw error;
    }
  }

  #decide(plan: FilePlan): Verdict {
    const standing = plan.hidden === undefined ? (plan.isInWorkspace ? 'workspace' : 'outside') : 'hidden';
    return decideFiles(this.#port, { paths: plan.effects.map(({ path }) => path), standing });
  }

  async #ask(item: FileItem, proposal: FileProposal, isStored: boolean): Promise<ChangeResult> {
    const answer = await this.#parts.tools.broker.ask(this.#port, proposal, this.#signal, { isStored });
    const consent = consentOf(answer);
    if ('refusal' in consent) return this.#refuse(item, consent.refusal);
    return this.#parts.lane.run(async () => {
      const plan = await this.#plan();
      if ('problem' in plan || !this.#isAsShown(proposal, plan)) return this.#refuse(item, noLongerShown('be changed'));
      const until = consent.accepted === 'acceptForSession' ? 'session' : 'turn';
      if (consent.accepted !== 'accept')
        for (const { path } of plan.effects) this.#port.grants.add(changeDigest(path), until);
      return this.#effect(item, plan);
    });
  }

  async #effect(item: FileItem, plan: FilePlan): Promise<ChangeResult> {
    const { tools, diff, told } = this.#parts;
    const begun = tools.clock.elapsed();
    try {
      await changeFiles(plan.effects, tools.commits, this.#signal);
    } catch (error) {
      const isPartial = isAppError(error) && error.data.isPartial === true;
      await this.#store([this.#completed(item, 'failed', isPartial ? { outcome: 'unknown' } : {})]);
      if (!isAppError(error) || error.kind === 'cancelled') throw error;
      return { kind: 'unfit', problem: messageOf(error) };
    }
    diff.add(plan.differences);
    const { turnId } = this.#port;
    const text = diff.text(this.#port.settings().cwd);
    told(text);
    const news: ThreadEvent = { type: 'turnDiffUpdated', turnId, diff: text };
    await this.#store([this.#completed(item, 'completed'), news]);
    return { kind: 'changed', summary: plan.summary, durationMs: tools.clock.elapsed() - begun };
  }

  /** No item, as in the reference; but people see what was refused, not only the model. */
  async #deny(plan: FilePlan, rule: string): Promise<ChangeResult> {
    const files = plan.hidden ?? plan.changes.map(({ path }) => path).join(', ');
    const message = `a change of files was refused (${rule}): ${files}`.slice(0, 4_000);
    await this.#store([{ type: 'warned', turnId: this.#port.turnId, message, isRefusal: true }]);
    return { kind: 'refused', reason: rule };
  }

  async #refuse(item: FileItem, refusal: Refusal): Promise<ChangeResult> {
    await this.#store([this.#completed(item, 'declined')]);
    return refusedAs(refusal);
  }

  #completed(item: FileItem, status: FileItem['status'], more: Pick<FileItem, 'outcome'> = {}): ThreadEvent {
    const completedAtMs = this.#parts.tools.clock.now();
    return { type: 'itemCompleted', turnId: this.#port.turnId, item: { ...item, status, ...more, completedAtMs } };
  }

  async #store(events: readonly ThreadEvent[]): Promise<void> {
    await this.#port.append(events);
  }

  #newItem(id: ItemId, plan: FilePlan): FileItem {
    const startedAtMs = this.#parts.tools.clock.now();
    return {
      ...{ type: 'fileChange', id, changes: [...plan.changes] },
      ...{ status: 'inProgress', startedAtMs, completedAtMs: null },
    };
  }

  #proposalFor(item: FileItem, callId: string, plan: FilePlan, rule: string): FileProposal {
    const settings = this.#port.settings();
    const now = this.#parts.tools.clock.now();
    return {
      id: newId(),
      kind: 'fileChange',
      turnId: this.#port.turnId,
      itemId: item.id,
      callId,
      changes: item.changes,
      targets: plan.effects.map(({ path }) => path),
      cwd: settings.cwd,
      reason: null,
      rule,
      sandbox: plan.isInWorkspace ? 'sandboxed' : 'bare',
      operationDigest: digestOf(plan),
      ...policyDigests(settings),
      nonce: newId(),
      startedAtMs: now,
      expiresAtMs: now + this.#parts.tools.approvalLifeMs(),
    };
  }

  #isAsShown(proposal: FileProposal, plan: FilePlan): boolean {
    return proposal.operationDigest === digestOf(plan) && isPolicyAsShown(proposal, this.#port.settings());
  }
}

/** Of what happens to which files, and of how they lie. */
const digestOf = ({ digest, isInWorkspace, hidden }: FilePlan): string =>
  fingerprint({ digest, isInWorkspace, hidden: hidden ?? null });
