// One shell line of a model: decided about, asked about, run in its sandbox, shown as an item.

import { NO_PERMISSIONS, together } from '../approvals/grants.ts';
import type { RunsAs, Verdict } from '../approvals/rules.ts';
import type { TurnPort } from '../approvals/thread-port.ts';
import { onAbort, throwIfAborted } from '../base/signals.ts';
import { commandActions } from '../children/command-actions.ts';
import { checkFolder } from '../children/program.ts';
import { isKnownSafe } from '../children/read-only-commands.ts';
import { proposedAmendment, shellCommand } from '../children/shell-command.ts';
import type { ShellParser } from '../children/shell-line.ts';
import { displayCommand } from '../children/shell-quote.ts';
import type { Permissions, ProposalOf } from '../model/approval.ts';
import { type ItemId, newId } from '../model/ids.ts';
import type { ItemOf } from '../model/item.ts';
import type { SandboxPolicy } from '../sandbox/policy.ts';
import type { Command, CommandResult } from './backend.ts';
import { commandSandbox } from './command-sandbox.ts';
import { consentOf, noLongerShown, type Refusal, refusedAs } from './consent.ts';
import { isPolicyAsShown, policyDigests } from './evidence.ts';
import { wantedPermissions } from './permission-request.ts';
import { permissionsOf } from './permissions.ts';
import type { SessionStart } from './session.ts';
import type { CommandSessions } from './sessions.ts';
import type { ToolParts } from './tools.ts';
import { decideLine, type Line, lineDigest } from './verdicts.ts';
import type { CommandChanges } from './workspace/changes.ts';

type CommandItem = ItemOf<'commandExecution'>;
type CommandProposal = ProposalOf<'command'>;

const TERMINAL_SIZE = { rows: 24, cols: 80 };
const PLAIN_TERMINAL = { TERM: 'dumb', NO_COLOR: '1', PAGER: 'cat', GIT_PAGER: 'cat' };

const TOO_MANY = 'too many commands run in this thread already; end one of them first';

/** For waiting that is ended by the end of what is waited for. */
const UNENDING = new AbortController().signal;

export class CommandCall {
  readonly #port: TurnPort;
  readonly #parts: ToolParts;
  readonly #shell: ShellParser;
  readonly #command: Command;
  readonly #signal: AbortSignal;
  /** Takes what may still have effects after the call has returned. */
  readonly #track: (work: Promise<unknown>) => void;
  readonly #sessions: CommandSessions;
  readonly #changes: CommandChanges;
  readonly #argv: readonly [string, string, string];
  /** What this command is to have beyond the sandbox, with real paths. */
  #permissions: Permissions | undefined;

  constructor(
    port: TurnPort,
    parts: ToolParts,
    shell: ShellParser,
    command: Command,
    signal: AbortSignal,
    track: (work: Promise<unknown>) => void,
    { sessions, changes }: { readonly sessions: CommandSessions; readonly changes: CommandChanges },
  ) {
    this.#port = port;
    this.#parts = parts;
    this.#shell = shell;
    this.#command = command;
    this.#signal = signal;
    this.#track = track;
    this.#sessions = sessions;
    this.#changes = changes;
    this.#argv = shellCommand(command.line, parts.environment.SHELL, command.shell);
  }

  async run(callId: ItemId): Promise<CommandResult> {
    if (this.#sessions.isFull) return { kind: 'refused', reason: TOO_MANY };
    const wanted = await this.#wanted();
    if (wanted && 'problem' in wanted) return this.#deny(wanted.problem);
    this.#permissions = wanted;
    const verdict = await this.#decide();
    if (verdict.decision === 'deny') return this.#deny(verdict.rule);
    const itemId = await this.#port.uniqueItemId(callId, 'call');
    const item = this.#newItem(itemId);
    if (verdict.decision === 'allow') {
      // Beside the two steps that come first; its failure is told when it is waited for.
      this.#prepare(verdict.runs).catch(() => {});
      const started = await this.#begun(item);
      await this.#store({ type: 'itemStarted', item: started });
      return this.#effect(started, verdict.runs);
    }
    await this.#store({ type: 'itemStarted', item });
    return this.#ask(item, await this.#proposalFor(item, callId, verdict.runs), false);
  }

  /** After a restart: the question stands, and its answer decides. */
  goOn(item: CommandItem, proposal: CommandProposal): Promise<CommandResult> {
    this.#permissions = proposal.permissions;
    return this.#ask(item, proposal, true);
  }

  async #wanted(): Promise<Permissions | { readonly problem: string } | undefined> {
    const { permissions, escalate } = this.#command;
    if (!permissions || escalate) return undefined;
    return wantedPermissions(this.#port, this.#parts, permissions);
  }

  #decide(): Promise<Verdict> {
    return decideLine(this.#port, this.#parts, this.#shell, this.#line);
  }

  get #line(): Line {
    return { ...this.#command, argv: this.#argv, permissions: this.#permissions };
  }

  async #ask(item: CommandItem, proposal: CommandProposal, isStored: boolean): Promise<CommandResult> {
    const answer = await this.#parts.broker.ask(this.#port, proposal, this.#signal, { isStored });
    const consent = consentOf(answer);
    if ('refusal' in consent) return this.#refuse(item, consent.refusal);
    const decision = consent.accepted;
    // That takes time, and nothing may lie between the next check and the start.
    await this.#prepare(proposal.sandbox);
    if (!(await this.#isWhatWasShown(proposal))) return this.#refuse(item, noLongerShown('run'));
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

  /** The command lives in a session, which completes its item; this call waits no longer for it than it was asked to. */
  async #effect(item: CommandItem, runs: RunsAs): Promise<CommandResult> {
    throwIfAborted(this.#signal);
    const { cwd, line, timeoutMs, yieldMs } = this.#command;
    const mayChange = await this.#prepare(runs);
    throwIfAborted(this.#signal);
    if (this.#sessions.isFull) return this.#refuse(item, { reason: TOO_MANY, endsTurn: false });
    const request = {
      argv: this.#argv,
      cwd,
      ...this.#surroundings(),
      policy: this.#policy(runs),
      owner: this.#port.threadId,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
    const start = { port: this.#port, item, line, request, runs, hasMore: this.#permissions !== undefined };
    const session = this.#sessions.begin(start, this.#parts);
    const off = onAbort(this.#signal, () => void session.end());
    try {
      const reading = await session.read(yieldMs, UNENDING);
      throwIfAborted(this.#signal);
      return reading;
    } finally {
      off();
      if (!session.isLeft) this.#track(session.settled);
      if (mayChange) this.#changes.after();
    }
  }

  /** Has the files looked at before the first command that may change some. Gives whether this one may. */
  async #prepare(runs: RunsAs): Promise<boolean> {
    const mayChange = this.#policy(runs).mode !== 'read-only' && !isKnownSafe(this.#shell, this.#command.line);
    if (mayChange) await this.#changes.before();
    return mayChange;
  }

  #policy(runs: RunsAs): SandboxPolicy {
    return commandSandbox(this.#port.settings(), runs, this.#parts.hidden, this.#allowed());
  }

  #allowed(): Permissions {
    return together(permissionsOf(this.#port), this.#permissions ?? NO_PERMISSIONS);
  }

  /** Programs on a terminal take it for a person's unless they are told. */
  #surroundings(): Pick<SessionStart['request'], 'env' | 'terminal'> {
    const env = this.#parts.environment;
    return this.#command.onTerminal ? { env: { ...env, ...PLAIN_TERMINAL }, terminal: TERMINAL_SIZE } : { env };
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
    return { ...item, source: 'unifiedExecStartup', processId: canStart ? this.#sessions.freeNumber() : null };
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

  async #proposalFor(item: CommandItem, callId: string, sandbox: RunsAs): Promise<CommandProposal> {
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
      ...(this.#command.onTerminal ? { onTerminal: true as const } : {}),
      ...(this.#permissions ? { permissions: this.#permissions } : {}),
      operationDigest: await lineDigest(this.#line, sandbox),
      ...policyDigests(settings),
      nonce: newId(),
      startedAtMs: item.startedAtMs ?? now,
      expiresAtMs: now + this.#parts.approvalLifeMs(),
    };
  }

  async #isWhatWasShown(proposal: CommandProposal): Promise<boolean> {
    const digest = await lineDigest(this.#line, proposal.sandbox);
    return proposal.operationDigest === digest && isPolicyAsShown(proposal, this.#port.settings());
  }
}
