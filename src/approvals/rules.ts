// Pure: policy, action and grants -> allow, ask or deny, and which rule said so.

import type { ApprovalPolicy, SandboxPolicy } from '../model/policy.ts';
import type { RuleDecision } from './rules-file.ts';

export interface CommandAction {
  /** The model asks to leave the sandbox. */
  readonly escalate: boolean;
}

export interface Facts {
  readonly policy: ApprovalPolicy;
  readonly sandbox: SandboxPolicy;
  /** The sandbox of this host holds. */
  readonly sandboxHolds: boolean;
  /** Exactly this operation was accepted for the turn or the session. */
  readonly isGranted: boolean;
  /** What the rules file says of the command. */
  readonly prefixRule: RuleDecision | undefined;
  /** Why it says so, in the words of whoever wrote the rule. */
  readonly justification?: string | undefined;
  /** Something in the rules file cannot be read, and what it may have said of the command counts. */
  readonly mayLackRule?: boolean;
}

/** `bare`: without a sandbox. `unavailable`: bare, and only because the host has none. */
export type RunsAs = 'sandboxed' | 'bare' | 'unavailable';

export interface Verdict {
  readonly decision: 'allow' | 'ask' | 'deny';
  readonly runs: RunsAs;
  /** Which rule decided, in words for people. */
  readonly rule: string;
  /** Allowed because exactly this was accepted before. */
  readonly isAccepted?: true;
}

const UNREAD_RULES = 'something in the rules file cannot be read, which may be a rule about this command';

export function decideCommand(action: CommandAction, facts: Facts): Verdict {
  const isBare = facts.sandbox.type === 'dangerFullAccess' || facts.sandbox.type === 'externalSandbox';
  const runs: RunsAs = isBare || action.escalate ? 'bare' : facts.sandboxHolds ? 'sandboxed' : 'unavailable';
  const { policy, prefixRule } = facts;
  const because = facts.justification ? `: ${facts.justification}` : '';
  if (prefixRule === 'forbidden') return { decision: 'deny', runs, rule: `a rule forbids this command${because}` };
  if (facts.isGranted) return { decision: 'allow', runs, rule: 'this operation was accepted before', isAccepted: true };
  if (prefixRule === 'prompt') return asked(runs, `a rule asks before this command${because}`, mayAskByRule(policy));
  if (facts.mayLackRule) return asked(runs, UNREAD_RULES, mayAskByRule(policy));
  // Nothing that lasts lets a command run bare for want of a sandbox.
  if (prefixRule === 'allow' && runs !== 'unavailable' && (!isBare || policy === 'untrusted')) {
    return { decision: 'allow', runs, rule: 'a remembered prefix allows this command' };
  }
  if (policy !== 'untrusted') {
    if (isBare) return { decision: 'allow', runs, rule: 'the thread has full access' };
    if (runs === 'sandboxed') return { decision: 'allow', runs, rule: 'the sandbox holds what the command may touch' };
  }
  if (isBare) return asked(runs, 'the policy asks before every command', true);
  const why = {
    sandboxed: 'the policy asks before every command',
    bare: 'the command asks to leave the sandbox',
    unavailable: 'this host has no sandbox',
  }[runs];
  return asked(runs, why, mayAsk(policy));
}

/** What a model types into a command that runs already; `runs` is how, `hasMore` that it may do more than its sandbox. */
export function decideInput(
  { runs, hasMore }: { readonly runs: RunsAs; readonly hasMore: boolean },
  { policy, sandbox, isGranted }: Pick<Facts, 'policy' | 'sandbox' | 'isGranted'>,
): Verdict {
  if (isGranted) return { decision: 'allow', runs, rule: 'typing into this command was accepted before' };
  if (policy === 'untrusted')
    return asked(runs, 'the policy asks before everything that is typed into a command', true);
  if (sandbox.type === 'dangerFullAccess' || sandbox.type === 'externalSandbox')
    return { decision: 'allow', runs, rule: 'the thread has full access' };
  if (runs === 'sandboxed' && !hasMore)
    return { decision: 'allow', runs, rule: 'the sandbox holds what the command may touch' };
  const where = hasMore ? 'has more than the sandbox' : 'runs outside the sandbox';
  return asked(runs, `it would be typed into a command that ${where}`, mayAsk(policy));
}

function asked(runs: RunsAs, why: string, may: boolean): Verdict {
  return may
    ? { decision: 'ask', runs, rule: why }
    : { decision: 'deny', runs, rule: `${why}, and the approval policy is never to ask` };
}

/** Whether people may be asked for more than the sandbox allows. Whoever is under the operator's ceiling gets no more by asking. */
export function decidePermissions(policy: ApprovalPolicy, isCapped: boolean): Pick<Verdict, 'decision' | 'rule'> {
  if (isCapped)
    return { decision: 'deny', rule: 'a turn under the ceiling of remote clients gets no more than its sandbox' };
  if (policy === 'never') return { decision: 'deny', rule: 'the approval policy is never to ask' };
  if (typeof policy !== 'string' && !policy.granular.request_permissions)
    return { decision: 'deny', rule: 'the approval policy lets the model ask for no permissions' };
  return { decision: 'ask', rule: 'the model asks for more than the sandbox allows' };
}

/** A patch that the house itself would write; `standing` is that of all its files together. */
export interface FileFacts {
  readonly policy: ApprovalPolicy;
  readonly sandbox: SandboxPolicy;
  /** `workspace`: every file lies below a root of the thread, and none is protected. `hidden`: one is out of everybody's sight. */
  readonly standing: 'workspace' | 'outside' | 'hidden';
  /** Every file was accepted for the turn or the session. */
  readonly isGranted: boolean;
}

/** `runs` tells what an acceptance would reach: `sandboxed` the workspace only, `bare` more. */
export function decideFileChange({ policy, sandbox, standing, isGranted }: FileFacts): Verdict {
  const runs: RunsAs = standing === 'workspace' ? 'sandboxed' : 'bare';
  if (standing === 'hidden') return { decision: 'deny', runs, rule: 'the file is out of reach for this thread' };
  if (isGranted) return { decision: 'allow', runs, rule: 'changes of these files were accepted before' };
  const isBare = sandbox.type === 'dangerFullAccess' || sandbox.type === 'externalSandbox';
  const isWritable = sandbox.type === 'workspaceWrite' && standing === 'workspace';
  if (policy !== 'untrusted') {
    if (isBare) return { decision: 'allow', runs, rule: 'the thread has full access' };
    if (isWritable) return { decision: 'allow', runs, rule: 'the files lie in the workspace' };
  }
  const why =
    isBare || isWritable
      ? 'the policy asks before every change of files'
      : sandbox.type === 'readOnly' && standing === 'workspace'
        ? 'the thread may only read files'
        : 'a file lies outside of what the thread may write';
  return asked(runs, why, mayAsk(policy));
}

/** Beyond the sandbox, and before effects. */
function mayAsk(policy: ApprovalPolicy): boolean {
  if (policy === 'never') return false;
  return typeof policy === 'string' || policy.granular.sandbox_approval;
}

/** Because a rule of the rules file says so. */
function mayAskByRule(policy: ApprovalPolicy): boolean {
  if (policy === 'never') return false;
  return typeof policy === 'string' || policy.granular.rules;
}

/** A call of a tool of an MCP server, which runs outside of every sandbox. */
export interface McpFacts {
  readonly policy: ApprovalPolicy;
  readonly sandbox: SandboxPolicy;
  /** What the operator has set for the tool. */
  readonly mode: 'auto' | 'prompt' | 'approve';
  /** What the server says of its tool: hints that it may get wrong, never more than a reason not to ask. */
  readonly hints: { readonly readOnly?: boolean; readonly destructive?: boolean; readonly openWorld?: boolean };
  /** The tool was accepted while the thread is loaded. */
  readonly isGranted: boolean;
  /** The turn is under the ceiling of remote clients. */
  readonly isCapped: boolean;
}

export function decideMcpCall(facts: McpFacts): Verdict {
  const runs = 'bare' as const;
  const { policy, sandbox, mode, hints, isGranted, isCapped } = facts;
  // What others were allowed before does not widen a turn that is held under the ceiling.
  if (isCapped) return asked(runs, 'a tool runs outside of what remote clients may reach', mayElicit(policy));
  if (mode === 'approve') return { decision: 'allow', runs, rule: 'the configuration allows this tool' };
  if (isGranted) return { decision: 'allow', runs, rule: 'this tool was accepted before' };
  if (mode === 'prompt') return asked(runs, 'the configuration asks before this tool', mayElicit(policy));
  if (policy === 'untrusted') return asked(runs, 'the policy asks before every tool', true);
  if (hints.readOnly === true && hints.destructive !== true)
    return { decision: 'allow', runs, rule: 'the tool only reads, says its server' };
  if (policy === 'never' && sandbox.type === 'dangerFullAccess')
    return { decision: 'allow', runs, rule: 'the thread has full access' };
  if (hints.destructive === false && hints.openWorld === false)
    return { decision: 'allow', runs, rule: 'the tool destroys nothing and stays here, says its server' };
  return asked(runs, 'the tool may change things outside of the sandbox', mayElicit(policy));
}

/** Whether MCP servers, and calls of their tools, may ask people. */
export function mayElicit(policy: ApprovalPolicy): boolean {
  if (policy === 'never') return false;
  return typeof policy === 'string' || policy.granular.mcp_elicitations;
}
