// Proposals as questions to clients: which method, with which params, and what may be answered.

import type { z } from 'zod';
import { displayCommand } from '../children/shell-quote.ts';
import { McpConsent, type Permissions, type Proposal, type ProposalOf } from '../model/approval.ts';
import type { ThreadId } from '../model/ids.ts';
import {
  commandApproval,
  elicitationRequest,
  FileDecision,
  fileChangeApproval,
  permissionsApproval,
  userInputRequest,
  type WireDecision,
  type WirePermissions,
} from './requests.ts';
import { riskOf } from './risk.ts';

/** For whom a question is: only who may change the rules is offered to remember one. */
export interface Recipient {
  readonly mayRemember: boolean;
}

type ParamsOf<M extends { readonly params: () => z.ZodType }> = z.input<ReturnType<M['params']>>;
type Decisions = z.input<ReturnType<typeof WireDecision>>[];

/** The question about a proposal, for clients. */
export function approvalRequest(
  threadId: ThreadId,
  proposal: Proposal,
  recipient: Recipient,
): { readonly method: string; readonly params: object } {
  switch (proposal.kind) {
    case 'command':
      return { method: commandApproval.method, params: commandApprovalParams(threadId, proposal, recipient) };
    case 'terminalInput':
      return { method: commandApproval.method, params: terminalInputParams(threadId, proposal) };
    case 'fileChange':
      return { method: fileChangeApproval.method, params: fileChangeParams(threadId, proposal) };
    case 'permissions':
      return { method: permissionsApproval.method, params: permissionsParams(threadId, proposal) };
    case 'userInput':
      return { method: userInputRequest.method, params: userInputParams(threadId, proposal) };
    case 'mcpToolCall':
      return { method: elicitationRequest.method, params: mcpToolCallParams(threadId, proposal, recipient) };
    case 'elicitation':
      return { method: elicitationRequest.method, params: elicitationParams(threadId, proposal) };
  }
}

/** The decisions of which one is the answer; undefined: the answer has another form. */
export function availableDecisions(proposal: Proposal, { mayRemember }: Recipient): Decisions | undefined {
  // A yes to a form comes with what was filled in.
  if (proposal.kind === 'elicitation') return ['accept', 'decline', 'cancel'];
  if (proposal.kind === 'fileChange') return [...FileDecision().options];
  if (proposal.kind === 'terminalInput') return ['accept', 'acceptForSession', 'decline', 'cancel'];
  if (proposal.kind !== 'command') return undefined;
  if (proposal.sandbox === 'unavailable') return ['accept', 'decline', 'cancel'];
  // A rule would let it run without them.
  const rule: Decisions =
    mayRemember && !proposal.permissions
      ? [{ acceptWithExecpolicyAmendment: { execpolicy_amendment: proposal.amendment } }]
      : [];
  return ['accept', 'acceptForSession', ...rule, 'decline', 'cancel'];
}

/** Those of a call of a tool, where it is answered by one of them instead of in the form of an elicitation. */
export function toolDecisions(proposal: ProposalOf<'mcpToolCall'>, recipient: Recipient): readonly McpConsent[] {
  return McpConsent().options.filter((each) => each !== 'acceptAlways' || mayRememberTool(proposal, recipient));
}

/** There is a setting that could remember an answer. */
export const canBeRemembered = ({ isOfAllServers, isOfThread }: ProposalOf<'mcpToolCall'>): boolean =>
  !isOfAllServers && !isOfThread;

const mayRememberTool = (proposal: ProposalOf<'mcpToolCall'>, { mayRemember }: Recipient): boolean =>
  mayRemember && canBeRemembered(proposal);

/** What every question says of its place in the thread. */
const placeOf = (threadId: ThreadId, { turnId, itemId }: Proposal) => ({ threadId, turnId, itemId });

const evidenceOf = (proposal: Proposal) => ({
  approvalId: proposal.id,
  operationDigest: proposal.operationDigest,
  policyDigest: proposal.policyDigest,
  workspaceDigest: proposal.workspaceDigest,
  nonce: proposal.nonce,
  expiresAt: Math.floor(proposal.expiresAtMs / 1000),
  risk: riskOf(proposal),
});

export function commandApprovalParams(
  threadId: ThreadId,
  proposal: ProposalOf<'command'>,
  recipient: Recipient,
): ParamsOf<typeof commandApproval> {
  return {
    kind: 'command',
    ...placeOf(threadId, proposal),
    startedAtMs: proposal.startedAtMs,
    environmentId: 'local',
    ...(proposal.reason === null ? {} : { reason: proposal.reason }),
    command: proposal.command,
    cwd: proposal.cwd,
    commandActions: proposal.commandActions,
    ...(recipient.mayRemember && !proposal.permissions ? { proposedExecpolicyAmendment: proposal.amendment } : {}),
    ...(proposal.permissions ? { additionalPermissions: wirePermissions(proposal.permissions) } : {}),
    availableDecisions: availableDecisions(proposal, recipient) ?? [],
    // The schema has this for questions about a part of an item; ours is a member of its own.
    approvalId: null,
    heddle: {
      ...evidenceOf(proposal),
      sandbox: proposal.sandbox,
      ...(proposal.onTerminal ? { onTerminal: proposal.onTerminal } : {}),
    },
  };
}

const HOW_IT_RUNS = {
  sandboxed: 'in the sandbox',
  bare: 'outside the sandbox',
  unavailable: 'without a sandbox',
} as const;

/** Clients that know nothing of such questions show what would be typed as a command, and the reason. */
function terminalInputParams(
  threadId: ThreadId,
  proposal: ProposalOf<'terminalInput'>,
): ParamsOf<typeof commandApproval> {
  const { turnId, commandItemId: itemId, session, chars, cwd, sandbox } = proposal;
  const command = displayCommand(['write_stdin', '--session-id', session, chars]);
  return {
    kind: 'writeStdin',
    ...{ threadId, turnId, itemId },
    startedAtMs: proposal.startedAtMs,
    environmentId: 'local',
    reason: `This would be typed into a command that runs ${HOW_IT_RUNS[sandbox]}: ${proposal.command}`,
    ...{ command, cwd, commandActions: [{ type: 'unknown', command }] },
    availableDecisions: availableDecisions(proposal, { mayRemember: false }) ?? [],
    approvalId: proposal.id,
    heddle: { ...evidenceOf(proposal), sandbox, stdin: chars },
  };
}

function fileChangeParams(threadId: ThreadId, proposal: ProposalOf<'fileChange'>): ParamsOf<typeof fileChangeApproval> {
  const { changes, targets, cwd, rule, sandbox } = proposal;
  return {
    ...placeOf(threadId, proposal),
    startedAtMs: proposal.startedAtMs,
    reason: proposal.reason,
    grantRoot: null,
    availableDecisions: FileDecision().options,
    heddle: { ...evidenceOf(proposal), changes, targets, cwd, rule, sandbox },
  };
}

function permissionsParams(
  threadId: ThreadId,
  proposal: ProposalOf<'permissions'>,
): ParamsOf<typeof permissionsApproval> {
  return {
    ...placeOf(threadId, proposal),
    environmentId: 'local',
    startedAtMs: proposal.startedAtMs,
    cwd: proposal.cwd,
    reason: proposal.reason,
    permissions: wirePermissions(proposal.permissions),
    heddle: evidenceOf(proposal),
  };
}

export function wirePermissions({ network, read, write }: Permissions): z.input<ReturnType<typeof WirePermissions>> {
  const entry = (access: 'read' | 'write') => (path: string) => ({ path: { type: 'path' as const, path }, access });
  const entries = [...read.map(entry('read')), ...write.map(entry('write'))];
  const fileSystem = { read: read.length > 0 ? read : null, write: write.length > 0 ? write : null, entries };
  return { network: network ? { enabled: true } : null, fileSystem: entries.length > 0 ? fileSystem : null };
}

function userInputParams(threadId: ThreadId, proposal: ProposalOf<'userInput'>): ParamsOf<typeof userInputRequest> {
  return {
    ...placeOf(threadId, proposal),
    questions: proposal.questions,
    isBlocking: true,
    autoResolutionMs: null,
    heddle: evidenceOf(proposal),
  };
}

/** In the form in which servers ask people: clients know a call of a tool by its `_meta`. */
function mcpToolCallParams(
  threadId: ThreadId,
  proposal: ProposalOf<'mcpToolCall'>,
  recipient: Recipient,
): ParamsOf<typeof elicitationRequest> {
  const { turnId, itemId, server, tool, title, description, annotations, rule } = proposal;
  return {
    threadId,
    turnId,
    serverName: server,
    environmentId: null,
    mode: 'form',
    _meta: {
      codex_approval_kind: 'mcp_tool_call',
      persist: mayRememberTool(proposal, recipient) ? ['session', 'always'] : ['session'],
      tool_name: tool,
      ...(annotations === null ? {} : { tool_annotations: annotations }),
      ...(title === null ? {} : { tool_title: title }),
      ...(description === null ? {} : { tool_description: description }),
      tool_params: proposal.arguments,
      tool_params_display: displayed(proposal.arguments),
    },
    message: `Allow the ${server} MCP server to run tool "${tool}"?`,
    requestedSchema: { type: 'object', properties: {} },
    heddle: { ...evidenceOf(proposal), itemId, rule, sandbox: 'bare' },
  };
}

/** What a server itself asks, as it came. */
function elicitationParams(
  threadId: ThreadId,
  proposal: ProposalOf<'elicitation'>,
): ParamsOf<typeof elicitationRequest> {
  const { turnId, itemId, server, question } = proposal;
  return {
    ...{ threadId, turnId: turnId || null, serverName: server, environmentId: null, _meta: null },
    ...question,
    heddle: { ...evidenceOf(proposal), itemId: itemId || null },
  };
}

function displayed(given: unknown): readonly object[] {
  if (given === null || typeof given !== 'object' || Array.isArray(given)) return [];
  return Object.entries(given).map(([name, value]) => ({ name, value, display_name: name }));
}
