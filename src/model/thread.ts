// A conversation: its settings, what is known about it without reading its history, and how clients see it.

import { z } from 'zod';
import { UserInput } from './input.ts';
import { ApprovalPolicy, ApprovalsReviewer, HeldPolicy } from './policy.ts';
import { type Infer, JsonObject, schema } from './schema.ts';
import { TokenUsage, Turn } from './turn.ts';

export const PermissionProfile = schema(() => z.object({ id: z.string(), extends: z.string().nullable() }));

export const ReasoningSummary = schema(() => z.enum(['auto', 'concise', 'detailed', 'none']));

/** Kept and shown; nothing follows from it. */
export const Personality = schema(() => z.enum(['none', 'friendly', 'pragmatic']));

/** What a thread works with; frozen at its start, changed only by overrides that name it. */
export const ThreadSettings = schema(() =>
  z.object({
    model: z.string(),
    modelProvider: z.string(),
    cwd: z.string(),
    workspaceRoots: z.array(z.string()),
    /**
     * Where the folders led, links resolved, when they were chosen; those that are not named led to themselves. Absent: not known,
     * because they were chosen by an older version.
     */
    rootPlaces: z.record(z.string(), z.string()).optional(),
    /** Without one, nothing can be run or read for the thread. */
    hasEnvironment: z.boolean(),
    approvalPolicy: ApprovalPolicy(),
    approvalsReviewer: ApprovalsReviewer(),
    sandboxPolicy: HeldPolicy(),
    permissionProfile: PermissionProfile().nullable(),
    effort: z.string().nullable(),
    summary: ReasoningSummary().nullable(),
    serviceTier: z.string().nullable(),
    personality: Personality().nullable(),
    baseInstructions: z.string().nullable(),
    developerInstructions: z.string().nullable(),
    collaborationMode: JsonObject().nullable(),
    instructionSources: z.array(z.string()),
    dynamicTools: z.array(JsonObject()),
  }),
);
export type ThreadSettings = Infer<typeof ThreadSettings>;

export const ReadState = schema(() =>
  z.object({
    firstUnread: z
      .union([z.object({ type: z.literal('turn'), turnId: z.string() }), z.object({ type: z.literal('threadStart') })])
      .nullable(),
    revision: z.string(),
  }),
);
export type ReadState = Infer<typeof ReadState>;

export const GitInfo = schema(() =>
  z.object({ sha: z.string().nullable(), branch: z.string().nullable(), originUrl: z.string().nullable() }),
);

/** What a thread is to reach; for keeping track only, it allows nothing. Times in epoch seconds. */
export const Goal = schema(() =>
  z.object({
    threadId: z.string(),
    objective: z.string(),
    status: z.enum(['active', 'paused', 'blocked', 'usageLimited', 'budgetLimited', 'complete']),
    tokenBudget: z.int().nullable(),
    tokensUsed: z.int(),
    timeUsedSeconds: z.int(),
    createdAt: z.int(),
    updatedAt: z.int(),
  }),
);
export type Goal = Infer<typeof Goal>;

/** Input that waits for the thread to be idle. */
export const QueuedSubmission = schema(() =>
  z.object({
    id: z.string(),
    input: z.array(UserInput()),
    clientUserMessageId: z.string(),
    responsesapiClientMetadata: z.record(z.string(), z.string()).nullable(),
    /** Ours: added by somebody whom the operator's ceiling holds. */
    isCapped: z.literal(true).optional(),
    /** Ours: the id its turn will have, where it has been told already. */
    turnId: z.string().optional(),
  }),
);
export type QueuedSubmission = Infer<typeof QueuedSubmission>;

const SectionAppearance = schema(() => z.object({ icon: z.string().nullable(), color: z.string().nullable() }));

/** A named group of threads, for the eye only: it allows nothing and forbids nothing. */
export const ThreadSection = schema(() =>
  z.object({ id: z.string(), name: z.string(), appearance: SectionAppearance().nullable() }),
);
export type ThreadSection = Infer<typeof ThreadSection>;

/** The section that every tenant has. */
export const PINNED: ThreadSection = { id: '01984de2-8f74-7c91-a3b2-5c5e937cf318', name: 'Pinned', appearance: null };

/** Where a thread is within a section; a section that is gone holds nothing. */
export const SectionPlace = schema(() =>
  z.object({
    id: z.string(),
    enteredAtMs: z.int(),
    /** Orders the threads of the section by its characters. */
    position: z.string(),
  }),
);
export type SectionPlace = Infer<typeof SectionPlace>;

/** Something from outside that belongs to a thread, known to it by type and key. */
export const Attachment = schema(() =>
  z.object({
    id: z.string(),
    attachmentType: z.string(),
    identityKey: z.string(),
    /** JSON text: as one string it is kept once however many threads have it. */
    payload: z.string(),
    createdAtMs: z.int(),
  }),
);
export type Attachment = Infer<typeof Attachment>;

/** The catalogue's row of a thread: everything that lists and snapshots show without reading its log. Times in epoch ms. */
export const ThreadMeta = schema(() =>
  z.object({
    id: z.string(),
    createdAtMs: z.int(),
    updatedAtMs: z.int(),
    recencyAtMs: z.int(),
    archived: z.boolean(),
    name: z.string().nullable(),
    preview: z.string(),
    title: z.string().nullable(),
    metadata: JsonObject().nullable(),
    serviceName: z.string().nullable(),
    sessionId: z.string(),
    forkedFromId: z.string().nullable(),
    ephemeral: z.boolean(),
    historyMode: z.enum(['paginated', 'legacy']),
    originator: z.string(),
    threadSource: z.string().nullable(),
    createdByVersion: z.string(),
    gitInfo: GitInfo().nullable(),
    settings: ThreadSettings(),
    turnCount: z.int(),
    usage: TokenUsage(),
    readState: ReadState(),
    goal: Goal().nullable(),
    /** First in, first out. */
    queue: z.array(QueuedSubmission()),
    section: SectionPlace().nullable(),
    /** Commands that were left running and have not ended. */
    terminals: z.array(z.object({ turnId: z.string(), itemId: z.string() })),
    /** Questions that stand outside of any turn. */
    asides: z.array(z.object({ approvalId: z.string(), nonce: z.string(), requestId: z.number() })),
    /** The last turn ended as failed, and none has begun since. */
    failed: z.boolean(),
    /** Something has been attached to it, and perhaps taken away again. */
    hasAttachments: z.literal(true).optional(),
  }),
);
export type ThreadMeta = Infer<typeof ThreadMeta>;

export const WaitingFlag = schema(() => z.enum(['waitingOnApproval', 'waitingOnUserInput']));
export type WaitingFlag = Infer<typeof WaitingFlag>;

export const ThreadStatus = schema(() =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('notLoaded') }),
    z.object({ type: z.literal('idle') }),
    z.object({ type: z.literal('systemError') }),
    z.object({ type: z.literal('active'), activeFlags: z.array(WaitingFlag()) }),
  ]),
);
export type ThreadStatus = Infer<typeof ThreadStatus>;

/** A thread as clients see it; times in epoch seconds. */
export const Thread = schema(() =>
  z.object({
    id: z.string(),
    environments: z
      .array(z.object({ environmentId: z.string(), cwd: z.string(), runtimeWorkspaceRoots: z.array(z.string()) }))
      .nullable(),
    extra: z.null(),
    sessionId: z.string(),
    forkedFromId: z.string().nullable(),
    attachedToThreadId: z.null(),
    parentThreadId: z.null(),
    preview: z.string(),
    ephemeral: z.boolean(),
    section: ThreadSection().nullable(),
    sectionEnteredAt: z.int().nullable(),
    projectId: z.null(),
    historyMode: z.enum(['paginated', 'legacy']),
    modelProvider: z.string(),
    model: z.string().nullable(),
    reasoningEffort: z.string().nullable(),
    createdAt: z.int(),
    updatedAt: z.int(),
    recencyAt: z.int().nullable(),
    status: ThreadStatus(),
    path: z.string().nullable(),
    cwd: z.string(),
    cliVersion: z.string(),
    originator: z.string().nullable(),
    source: z.enum(['cli', 'vscode', 'exec', 'appServer', 'unknown']),
    canAcceptDirectInput: z.boolean().nullable(),
    threadSource: z.string().nullable(),
    agentNickname: z.null(),
    agentRole: z.null(),
    gitInfo: GitInfo().nullable(),
    name: z.string().nullable(),
    daybreakEnabled: z.null(),
    turns: z.array(Turn()),
    /** Ours: what the client gave at the start. */
    title: z.string().optional(),
    metadata: JsonObject().optional(),
    serviceName: z.string().optional(),
    archived: z.boolean().optional(),
  }),
);
export type Thread = Infer<typeof Thread>;
