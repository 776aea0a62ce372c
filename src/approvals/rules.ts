// Pure: policy, action and grants -> allow, ask or deny, and which rule said so.

import type { ApprovalPolicy, SandboxPolicy } from '../model/policy.ts';

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
  /** A remembered prefix covers the command. */
  readonly hasPrefixRule: boolean;
}

/** `bare`: without a sandbox. `unavailable`: bare, and only because the host has none. */
export type RunsAs = 'sandboxed' | 'bare' | 'unavailable';

export interface Verdict {
  readonly decision: 'allow' | 'ask' | 'deny';
  readonly runs: RunsAs;
  /** Which rule decided, in words for people. */
  readonly rule: string;
}

export function decideCommand(action: CommandAction, facts: Facts): Verdict {
  if (facts.sandbox.type === 'dangerFullAccess' || facts.sandbox.type === 'externalSandbox')
    return decideWithoutSandbox(facts);
  const runs: RunsAs = action.escalate ? 'bare' : facts.sandboxHolds ? 'sandboxed' : 'unavailable';
  if (facts.isGranted) return { decision: 'allow', runs, rule: 'this operation was accepted before' };
  if (facts.hasPrefixRule && runs !== 'unavailable') {
    return { decision: 'allow', runs, rule: 'a remembered prefix allows this command' };
  }
  if (runs === 'sandboxed' && facts.policy !== 'untrusted') {
    return { decision: 'allow', runs, rule: 'the sandbox holds what the command may touch' };
  }
  const why = {
    sandboxed: 'the policy asks before every command',
    bare: 'the command asks to leave the sandbox',
    unavailable: 'this host has no sandbox',
  }[runs];
  if (mayAsk(facts.policy)) return { decision: 'ask', runs, rule: why };
  return { decision: 'deny', runs, rule: `${why}, and the approval policy is never to ask` };
}

function decideWithoutSandbox(facts: Facts): Verdict {
  if (facts.policy !== 'untrusted') return { decision: 'allow', runs: 'bare', rule: 'the thread has full access' };
  if (facts.isGranted) return { decision: 'allow', runs: 'bare', rule: 'this operation was accepted before' };
  if (facts.hasPrefixRule) return { decision: 'allow', runs: 'bare', rule: 'a remembered prefix allows this command' };
  return { decision: 'ask', runs: 'bare', rule: 'the policy asks before every command' };
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
  if (mayAsk(policy)) return { decision: 'ask', runs, rule: why };
  return { decision: 'deny', runs, rule: `${why}, and the approval policy is never to ask` };
}

function mayAsk(policy: ApprovalPolicy): boolean {
  if (policy === 'never') return false;
  return typeof policy === 'string' || policy.granular.sandbox_approval;
}
