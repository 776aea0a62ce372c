// The server's questions as clients see them, and what their answers mean.

import { z } from 'zod';
import type { Decision, Proposal, ProposalOf } from '../model/approval.ts';
import type { ThreadId } from '../model/ids.ts';
import { CommandAction, FileUpdateChange } from '../model/item.ts';
import { notification, request, unqueued } from '../rpc/declare.ts';

const WireDecision = () =>
  z.union([
    z.enum(['accept', 'acceptForSession', 'decline', 'cancel']),
    z.strictObject({
      acceptWithExecpolicyAmendment: z.strictObject({ execpolicy_amendment: z.array(z.string()) }),
    }),
  ]);

export const commandApproval = request('item/commandExecution/requestApproval', {
  params: () =>
    z.object({
      kind: z.literal('command'),
      threadId: z.string(),
      turnId: z.string(),
      itemId: z.string(),
      startedAtMs: z.number(),
      environmentId: z.string().nullable(),
      reason: z.string().optional(),
      command: z.string(),
      cwd: z.string(),
      commandActions: z.array(CommandAction()),
      proposedExecpolicyAmendment: z.array(z.string()).optional(),
      availableDecisions: z.array(WireDecision()),
      approvalId: z.string().nullable(),
      heddle: z.object({
        approvalId: z.string(),
        sandbox: z.enum(['sandboxed', 'bare', 'unavailable']),
        operationDigest: z.string(),
        policyDigest: z.string(),
        workspaceDigest: z.string(),
        nonce: z.string(),
        expiresAt: z.number(),
      }),
    }),
  result: () => z.object({ decision: WireDecision() }),
  queue: unqueued,
  needs: 'approval:resolve',
  mutates: false,
});

const FileDecision = () => z.enum(['accept', 'acceptForSession', 'decline', 'cancel']);

export const fileChangeApproval = request('item/fileChange/requestApproval', {
  params: () =>
    z.object({
      threadId: z.string(),
      turnId: z.string(),
      itemId: z.string(),
      startedAtMs: z.number(),
      reason: z.string().nullable(),
      grantRoot: z.null(),
      availableDecisions: z.array(FileDecision()),
      heddle: z.object({
        approvalId: z.string(),
        changes: z.array(FileUpdateChange()),
        targets: z.array(z.string()),
        cwd: z.string(),
        rule: z.string(),
        sandbox: z.enum(['sandboxed', 'bare']),
        operationDigest: z.string(),
        policyDigest: z.string(),
        workspaceDigest: z.string(),
        nonce: z.string(),
        expiresAt: z.number(),
      }),
    }),
  result: () => z.object({ decision: FileDecision() }),
  queue: unqueued,
  needs: 'approval:resolve',
  mutates: false,
});

export const serverRequestResolved = notification('serverRequest/resolved', () =>
  z.object({ threadId: z.string(), requestId: z.union([z.number(), z.string()]) }),
);

export const approvalMessages = { commandApproval, fileChangeApproval, serverRequestResolved };

/** What people are offered; nothing else counts as an answer. */
export function availableDecisions(proposal: Proposal): z.input<ReturnType<typeof WireDecision>>[] {
  if (proposal.kind === 'fileChange') return [...FileDecision().options];
  if (proposal.sandbox === 'unavailable') return ['accept', 'decline', 'cancel'];
  return [
    'accept',
    'acceptForSession',
    { acceptWithExecpolicyAmendment: { execpolicy_amendment: proposal.amendment } },
    'decline',
    'cancel',
  ];
}

/** The question about a proposal, for clients. */
export function approvalRequest(
  threadId: ThreadId,
  proposal: Proposal,
): { readonly method: string; readonly params: object } {
  return proposal.kind === 'command'
    ? { method: commandApproval.method, params: commandApprovalParams(threadId, proposal) }
    : { method: fileChangeApproval.method, params: fileChangeApprovalParams(threadId, proposal) };
}

function fileChangeApprovalParams(
  threadId: ThreadId,
  proposal: ProposalOf<'fileChange'>,
): z.input<ReturnType<typeof fileChangeApproval.params>> {
  return {
    threadId,
    turnId: proposal.turnId,
    itemId: proposal.itemId,
    startedAtMs: proposal.startedAtMs,
    reason: proposal.reason,
    grantRoot: null,
    availableDecisions: FileDecision().options,
    heddle: {
      approvalId: proposal.id,
      changes: proposal.changes,
      targets: proposal.targets,
      cwd: proposal.cwd,
      rule: proposal.rule,
      sandbox: proposal.sandbox,
      ...evidenceOf(proposal),
    },
  };
}

/** What is checked again when the effect starts, and until when. */
const evidenceOf = (proposal: Proposal) => ({
  operationDigest: proposal.operationDigest,
  policyDigest: proposal.policyDigest,
  workspaceDigest: proposal.workspaceDigest,
  nonce: proposal.nonce,
  expiresAt: Math.floor(proposal.expiresAtMs / 1000),
});

export function commandApprovalParams(
  threadId: ThreadId,
  proposal: ProposalOf<'command'>,
): z.input<ReturnType<typeof commandApproval.params>> {
  return {
    kind: 'command',
    threadId,
    turnId: proposal.turnId,
    itemId: proposal.itemId,
    startedAtMs: proposal.startedAtMs,
    environmentId: 'local',
    ...(proposal.reason === null ? {} : { reason: proposal.reason }),
    command: proposal.command,
    cwd: proposal.cwd,
    commandActions: proposal.commandActions,
    proposedExecpolicyAmendment: proposal.amendment,
    availableDecisions: availableDecisions(proposal),
    // The schema has this for questions about a part of an item; ours is a member of its own.
    approvalId: null,
    heddle: {
      approvalId: proposal.id,
      sandbox: proposal.sandbox,
      ...evidenceOf(proposal),
    },
  };
}

/** An answer as a decision, or what is wrong with it. */
export function readDecision(
  proposal: Proposal,
  answer: { readonly result?: unknown; readonly error?: unknown },
): Decision | { problem: string } {
  if (answer.error !== undefined) return { problem: 'the client answered with an error' };
  const asked = proposal.kind === 'command' ? commandApproval : fileChangeApproval;
  const parsed = asked.result().safeParse(answer.result);
  if (!parsed.success) return { problem: 'the answer does not have the shape {"decision": one of availableDecisions}' };
  const { decision } = parsed.data;
  const offered = availableDecisions(proposal).some((each) => JSON.stringify(each) === JSON.stringify(decision));
  return offered ? decision : { problem: `the decision ${JSON.stringify(decision)} was not offered` };
}
