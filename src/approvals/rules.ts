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

function mayAsk(policy: ApprovalPolicy): boolean {
  if (policy === 'never') return false;
  return typeof policy === 'string' || policy.granular.sandbox_approval;
}
