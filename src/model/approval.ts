// A question to people before an effect, and the answers that count.

import { z } from 'zod';
import { Elicitation } from './elicitation.ts';
import { CommandAction, FileUpdateChange } from './item.ts';
import { type Infer, schema } from './schema.ts';

/** What is decided about an effect. */
export const Consent = schema(() =>
  z.union([
    z.enum(['accept', 'acceptForTurn', 'acceptForSession', 'decline', 'cancel']),
    z.object({ acceptWithExecpolicyAmendment: z.object({ execpolicy_amendment: z.array(z.string()) }) }),
  ]),
);
export type Consent = Infer<typeof Consent>;

/** What is decided about a call of a tool of an MCP server. `acceptAlways`: the configuration allows the tool from then on. */
export const McpConsent = schema(() => z.enum(['accept', 'acceptForSession', 'acceptAlways', 'decline', 'cancel']));
export type McpConsent = Infer<typeof McpConsent>;

/** Beyond what the sandbox allows; real, absolute paths of files and folders, with all below them. */
export const Permissions = schema(() =>
  z.object({ network: z.boolean(), read: z.array(z.string()), write: z.array(z.string()) }),
);
export type Permissions = Infer<typeof Permissions>;

export const PermissionGrant = schema(() =>
  z.object({ permissions: Permissions(), scope: z.enum(['turn', 'session']) }),
);
export type PermissionGrant = Infer<typeof PermissionGrant>;

/** What people said, by the id of each question; none need be answered. */
export const UserAnswers = schema(() =>
  z.object({ answers: z.record(z.string(), z.object({ answers: z.array(z.string()) })) }),
);
export type UserAnswers = Infer<typeof UserAnswers>;

export const UserQuestion = schema(() =>
  z.object({
    id: z.string(),
    header: z.string(),
    question: z.string(),
    /** Words of one's own are an answer too. */
    isOther: z.boolean(),
    isSecret: z.boolean(),
    options: z.array(z.object({ label: z.string(), description: z.string() })).nullable(),
  }),
);
export type UserQuestion = Infer<typeof UserQuestion>;

/**
 * What people said to a question of an MCP server. Of a form only the names of the fields that were filled in: what stands in them
 * may be nobody else's business, and even a digest of something short gives it away.
 */
export const ElicitationDecision = schema(() =>
  z.object({ action: z.enum(['accept', 'decline', 'cancel']), fields: z.array(z.string()).optional() }),
);
export type ElicitationDecision = Infer<typeof ElicitationDecision>;

export const Decision = schema(() =>
  z.union([Consent(), McpConsent(), PermissionGrant(), UserAnswers(), ElicitationDecision()]),
);
export type Decision = Infer<typeof Decision>;
/** What answers a proposal of this kind. */
export type DecisionOf<K extends Proposal['kind']> = K extends 'permissions'
  ? PermissionGrant
  : K extends 'userInput'
    ? UserAnswers
    : K extends 'mcpToolCall'
      ? McpConsent
      : K extends 'elicitation'
        ? ElicitationDecision
        : Consent;

const common = {
  id: z.string(),
  /** Empty: it belongs to no turn. */
  turnId: z.string(),
  /** Empty: it is about no item. */
  itemId: z.string(),
  /** The model's own name for the call, by which it is found again after a restart. */
  callId: z.string(),
  cwd: z.string(),
  reason: z.string().nullable(),
  operationDigest: z.string(),
  policyDigest: z.string(),
  workspaceDigest: z.string(),
  nonce: z.string(),
  startedAtMs: z.int(),
  /** Epoch ms of wall time; from then on the answer is a refusal. */
  expiresAtMs: z.int(),
};

const CommandProposal = schema(() =>
  z.object({
    ...common,
    kind: z.literal('command'),
    command: z.string(),
    argv: z.array(z.string()),
    commandActions: z.array(CommandAction()),
    amendment: z.array(z.string()),
    /** How it will run if accepted; `unavailable`: the host has no sandbox, and only this acceptance lets it run bare. */
    sandbox: z.enum(['sandboxed', 'bare', 'unavailable']),
    /** The model may type into it while it runs. */
    onTerminal: z.literal(true).optional(),
    /** What it would be given beyond the sandbox of the thread. */
    permissions: Permissions().optional(),
  }),
);

/** What a model wants to type into a command that runs. It has no item of its own. */
const TerminalInputProposal = schema(() =>
  z.object({
    ...common,
    kind: z.literal('terminalInput'),
    commandItemId: z.string(),
    /** The command that runs, and the number by which the model knows it. */
    command: z.string(),
    session: z.string(),
    chars: z.string(),
    /** How the command runs. */
    sandbox: z.enum(['sandboxed', 'bare', 'unavailable']),
    /** It alone was allowed more than its sandbox. */
    hasMore: z.literal(true).optional(),
  }),
);

const FileChangeProposal = schema(() =>
  z.object({
    ...common,
    kind: z.literal('fileChange'),
    changes: z.array(FileUpdateChange()),
    /** Real paths of all files that are written or removed. */
    targets: z.array(z.string()),
    /** `sandboxed`: all of them lie in the thread's workspace, where nothing is protected. */
    sandbox: z.enum(['sandboxed', 'bare']),
    /** Why people are asked, in words for them. */
    rule: z.string(),
  }),
);

/** More than the sandbox allows, for what the thread does from then on. Nothing happens by the answer itself. */
const PermissionsProposal = schema(() =>
  z.object({ ...common, kind: z.literal('permissions'), permissions: Permissions() }),
);

/** The model wants to know something of people. It allows nothing. */
const UserInputProposal = schema(() =>
  z.object({ ...common, kind: z.literal('userInput'), questions: z.array(UserQuestion()) }),
);

/** What a tool of an MCP server does happens outside of the sandbox. */
const McpToolCallProposal = schema(() =>
  z.object({
    ...common,
    kind: z.literal('mcpToolCall'),
    server: z.string(),
    tool: z.string(),
    title: z.string().nullable(),
    description: z.string().nullable(),
    arguments: z.unknown(),
    /** What the server says of its tool, as it came. */
    annotations: z.record(z.string(), z.unknown()).nullable(),
    /** It is of no one server, so that no setting can remember an answer. */
    isOfAllServers: z.literal(true).optional(),
    /** It is of a server that is not configured for all threads, so that no setting can remember an answer either. */
    isOfThread: z.literal(true).optional(),
    /** Why people are asked, in words for them. */
    rule: z.string(),
  }),
);

/** An MCP server wants something of people. What it does with the answer happens outside of the sandbox; it ends with the call. */
const ElicitationProposal = schema(() =>
  z.object({ ...common, kind: z.literal('elicitation'), server: z.string(), question: Elicitation() }),
);

/** What is proposed: enough to show it in full, and to check later that what happens is what was shown. */
export const Proposal = schema(() =>
  z.discriminatedUnion('kind', [
    CommandProposal(),
    TerminalInputProposal(),
    FileChangeProposal(),
    PermissionsProposal(),
    UserInputProposal(),
    McpToolCallProposal(),
    ElicitationProposal(),
  ]),
);
export type Proposal = Infer<typeof Proposal>;
export type ProposalOf<K extends Proposal['kind']> = Extract<Proposal, { kind: K }>;

/** A question that stands, as it would be asked over a connection. */
export const PendingApproval = schema(() =>
  z.object({
    approvalId: z.string(),
    threadId: z.string(),
    /** Null: it belongs to no turn. */
    turnId: z.string().nullable(),
    /** Null: it is about no item, or nobody knows about which. */
    itemId: z.string().nullable(),
    kind: z.enum(['command', 'terminalInput', 'fileChange', 'permissions', 'userInput', 'mcpToolCall', 'elicitation']),
    nonce: z.string(),
    requestedAtMs: z.int(),
    /** Epoch seconds. */
    expiresAt: z.int(),
    /** Except for permissions and input: what may be answered. */
    availableDecisions: z.array(z.unknown()).optional(),
    method: z.string(),
    params: z.record(z.string(), z.unknown()),
  }),
);
export type PendingApproval = Infer<typeof PendingApproval>;

/** How a question ended: exactly one of these, once. */
export const Resolution = schema(() =>
  z.discriminatedUnion('by', [
    z.object({ by: z.literal('answer'), decision: Decision(), subject: z.string() }),
    /** An answer that does not parse, an error, or a decision that was not offered: a refusal. */
    z.object({ by: z.literal('badAnswer'), problem: z.string() }),
    /** `isGone`: not the turn was interrupted; what the question was about was gone, and the turn, if there is one, goes on. */
    z.object({ by: z.literal('interrupt'), isGone: z.literal(true).optional() }),
    z.object({ by: z.literal('expiry') }),
    z.object({ by: z.literal('policy'), reason: z.string() }),
  ]),
);
export type Resolution = Infer<typeof Resolution>;
