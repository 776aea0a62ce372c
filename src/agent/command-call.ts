// One shell line of a model: decided about, asked about, run in its sandbox, shown as an item.

import { randomInt } from 'node:crypto';
import { StringDecoder } from 'node:string_decoder';
import type { RunsAs, Verdict } from '../approvals/rules.ts';
import type { TurnPort } from '../approvals/thread-port.ts';
import { cancelledBy, throwIfAborted } from '../base/signals.ts';
import { commandActions } from '../children/command-actions.ts';
import { checkFolder } from '../children/program.ts';
import { proposedAmendment, shellCommand } from '../children/shell-command.ts';
import type { ShellParser } from '../children/shell-line.ts';
import { displayCommand } from '../children/shell-quote.ts';
import type { ProposalOf } from '../model/approval.ts';
import { type ItemId, newId } from '../model/ids.ts';
import type { ItemOf } from '../model/item.ts';
import { runCommand as runToEnd } from '../process/runner.ts';
import type { Command, CommandResult } from './backend.ts';
import { endedCommand } from './command-item.ts';
import { commandSandbox } from './command-sandbox.ts';
import { consentOf, noLongerShown, type Refusal, refusedAs } from './consent.ts';
import { isPolicyAsShown, policyDigests } from './evidence.ts';
import { permissionsOf } from './permissions.ts';
import type { ToolParts } from './tools.ts';
import { decideLine, lineDigest } from './verdicts.ts';

type CommandItem = ItemOf<'commandExecution'>;
type CommandProposal = ProposalOf<'command'>;

export class CommandCall {
  readonly #port: TurnPort;
  readonly #parts: ToolParts;
  readonly #shell: ShellParser;
  readonly #command: Command;
  readonly #signal: AbortSignal;
  /** Takes what may still have effects after the call has returned. */
  readonly #track: (work: Promise<unknown>) => void;
  readonly #argv: readonly [string, string, string];

  constructor(
    port: TurnPort,
    parts: ToolParts,
    shell: ShellParser,
    command: Command,
    signal: AbortSignal,
    track: (work: Promise<unknown>) => void,
  ) {
    this.#port = port;
    this.#parts = parts;
    this.#shell = shell;
    this.#command = command;
    this.#signal = signal;
    this.#track = track;
    this.#argv = shellCommand(command.line, parts.environment.SHELL);
  }

  async run(wanted: ItemId): Promise<CommandResult> {
    const verdict = await this.#decide();
    if (verdict.decision === 'deny') return this.#deny(verdict.rule);
    const itemId = await this.#port.uniqueItemId(wanted, 'call');
    const item = this.#newItem(itemId);
    if (verdict.decision === 'allow') {
      const started = await this.#begun(item);
      await this.#store({ type: 'itemStarted', item: started });
      return this.#effect(started, verdict.runs);
    }
    await this.#store({ type: 'itemStarted', item });
    return this.#ask(item, this.#proposalFor(item, wanted, verdict.runs), false);
  }

  /** After a restart: the question stands, and its answer decides. */
  goOn(item: CommandItem, proposal: CommandProposal): Promise<CommandResult> {
    return this.#ask(item, proposal, true);
  }

  #decide(): Promise<Verdict> {
    return decideLine(this.#port, this.#parts, this.#shell, { ...this.#command, argv: this.#argv });
  }

  async #ask(item: CommandItem, proposal: CommandProposal, isStored: boolean): Promise<CommandResult> {
    const answer = await this.#parts.broker.ask(this.#port, proposal, this.#signal, { isStored });
    const consent = consentOf(answer);
    if ('refusal' in consent) return this.#refuse(item, consent.refusal);
    const decision = consent.accepted;
    if (!this.#isWhatWasShown(proposal)) return this.#refuse(item, noLongerShown('run'));
    if (decision === 'acceptForTurn') this.#port.grants.add(proposal.operationDigest, 'turn');
    else if (decision === 'acceptForSession') this.#port.grants.add(proposal.operationDigest, 'session');
    else if (decision !== 'accept') await this.#parts.prefixRules.remember(proposal.amendment);
    return this.#effect(await this.#begun(item), proposal.sandbox);
  }

  /** No item, as in the reference; but people see what was refused, not only the model. */
  async #deny(rule: string): Promise<CommandResult> {
    const message = `a command was refused (${rule}): ${displayCommand(this.#argv)}`;
    await this.#port.append([{ type: 'warned', turnId: this.#port.turnId, message, isRefusal: true }]);
    return { kind: 'refused', reason: rule };
  }

  async #refuse(item: CommandItem, refusal: Refusal): Promise<CommandResult> {
    await this.#complete({ ...item, status: 'declined', completedAtMs: this.#parts.clock.now() });
    return refusedAs(refusal);
  }

  async #effect(item: CommandItem, runs: RunsAs): Promise<CommandResult> {
    throwIfAborted(this.#signal);
    const text = new StringDecoder('utf8');
    const send = async (piece: string) => {
      if (piece === '') return;
      const { turnId } = this.#port;
      await this.#port.stream({ type: 'delta', turnId, itemId: item.id, stream: 'output', parts: [piece] });
    };
    const result = await runToEnd(
      {
        argv: this.#argv,
        cwd: this.#command.cwd,
        env: this.#parts.environment,
        policy: commandSandbox(this.#port.settings(), runs, this.#parts.hidden, permissionsOf(this.#port)),
        ...(this.#command.timeoutMs === undefined ? {} : { timeoutMs: this.#command.timeoutMs }),
        onOutput: (chunk) => send(text.write(chunk)),
      },
      this.#parts.runner,
      this.#signal,
    );
    this.#track(result.settled);
    await send(text.end());
    const mark = runs === 'unavailable' ? { sandbox: 'unavailable' as const } : {};
    await this.#complete({ ...endedCommand(item, result, this.#parts.clock.now()), ...mark });
    if (result.aborted) throw cancelledBy(this.#signal);
    const { exitCode, output, durationMs, timedOut } = result;
    return { kind: 'ran', exitCode, output, durationMs, timedOut };
  }

  async #complete(item: CommandItem): Promise<void> {
    await this.#store({ type: 'itemCompleted', item });
  }

  async #store(event: { type: 'itemStarted' | 'itemCompleted'; item: CommandItem }): Promise<void> {
    await this.#port.append([{ ...event, turnId: this.#port.turnId }]);
  }

  /** A command that can be started has a number by which the model knows it, of five digits as in the reference. */
  async #begun(item: CommandItem): Promise<CommandItem> {
    const canStart = await checkFolder(item.cwd).then(
      () => true,
      () => false,
    );
    return { ...item, source: 'unifiedExecStartup', processId: canStart ? String(randomInt(10_000, 100_000)) : null };
  }

  #newItem(id: ItemId): CommandItem {
    return {
      type: 'commandExecution',
      id,
      pluginId: null,
      scriptPath: null,
      command: displayCommand(this.#argv),
      cwd: this.#command.cwd,
      processId: null,
      source: 'agent',
      status: 'inProgress',
      commandActions: [...commandActions(this.#shell, this.#command.line, this.#command.cwd)],
      aggregatedOutput: null,
      exitCode: null,
      durationMs: null,
      startedAtMs: this.#parts.clock.now(),
      completedAtMs: null,
    };
  }

  #proposalFor(item: CommandItem, callId: string, sandbox: RunsAs): CommandProposal {
    const settings = this.#port.settings();
    const now = this.#parts.clock.now();
    return {
      id: newId(),
      kind: 'command',
      turnId: this.#port.turnId,
      itemId: item.id,
      callId,
      command: item.command,
      argv: [...this.#argv],
      cwd: this.#command.cwd,
      commandActions: item.commandActions,
      reason: this.#command.reason,
      amendment: [...proposedAmendment(this.#shell, this.#command.line)],
      sandbox,
      operationDigest: this.#operationDigest(sandbox),
      ...policyDigests(settings),
      nonce: newId(),
      startedAtMs: item.startedAtMs ?? now,
      expiresAtMs: now + this.#parts.approvalLifeMs(),
    };
  }

  #operationDigest(runs: RunsAs): string {
    return lineDigest({ argv: this.#argv, cwd: this.#command.cwd }, runs);
  }

  #isWhatWasShown(proposal: CommandProposal): boolean {
    return (
      proposal.operationDigest === this.#operationDigest(proposal.sandbox) &&
      isPolicyAsShown(proposal, this.#port.settings())
    );
  }
}
