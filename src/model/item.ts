// The displayable entries of a turn.

import { z } from 'zod';
import { ClientToolContent } from './client-tool.ts';
import { UserInput } from './input.ts';
import { type Infer, schema } from './schema.ts';
import { queryOf, WebSearchAction } from './web-search.ts';

const times = { startedAtMs: z.int().nullable(), completedAtMs: z.int().nullable() };

const UserMessageItem = schema(() =>
  z.object({
    type: z.literal('userMessage'),
    id: z.string(),
    clientId: z.string().nullable(),
    content: z.array(UserInput()),
    ...times,
  }),
);

const AgentMessageItem = schema(() =>
  z.object({
    type: z.literal('agentMessage'),
    moderation: z.null(),
    id: z.string(),
    text: z.string(),
    phase: z.enum(['commentary', 'final_answer']).nullable(),
    memoryCitation: z.null(),
    delivery: z.null(),
    questions: z.null(),
    ...times,
  }),
);

const ReasoningItem = schema(() =>
  z.object({
    type: z.literal('reasoning'),
    id: z.string(),
    summary: z.array(z.string()),
    content: z.array(z.string()),
    ...times,
  }),
);

export const CommandAction = schema(() =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('read'), command: z.string(), name: z.string(), path: z.string() }),
    z.object({ type: z.literal('listFiles'), command: z.string(), path: z.string().nullable() }),
    z.object({
      type: z.literal('search'),
      command: z.string(),
      query: z.string().nullable(),
      path: z.string().nullable(),
    }),
    z.object({ type: z.literal('unknown'), command: z.string() }),
  ]),
);
export type CommandAction = Infer<typeof CommandAction>;

const CommandExecutionItem = schema(() =>
  z.object({
    type: z.literal('commandExecution'),
    id: z.string(),
    pluginId: z.null(),
    scriptPath: z.null(),
    command: z.string(),
    cwd: z.string(),
    /** Number of the running session as the model sees it; not a process id. */
    processId: z.string().nullable(),
    source: z.enum(['agent', 'userShell', 'unifiedExecStartup', 'unifiedExecInteraction']),
    status: z.enum(['inProgress', 'completed', 'failed', 'declined']),
    commandActions: z.array(CommandAction()),
    aggregatedOutput: z.string().nullable(),
    exitCode: z.int().nullable(),
    durationMs: z.int().nullable(),
    /** Ours: the middle of the output was dropped to stay under the cap. */
    outputCapped: z.boolean().optional(),
    /** Ours: it ran without a sandbox because the host has none and a person accepted exactly that. */
    sandbox: z.literal('unavailable').optional(),
    /** Ours: how it ended is not known; the server stopped while it ran. */
    outcome: z.literal('unknown').optional(),
    ...times,
  }),
);

/** `diff`: the whole content for what comes or goes, else unified hunks. Paths are absolute. */
export const FileUpdateChange = schema(() =>
  z.object({
    path: z.string(),
    kind: z.discriminatedUnion('type', [
      z.object({ type: z.literal('add') }),
      z.object({ type: z.literal('delete') }),
      z.object({ type: z.literal('update'), move_path: z.string().nullable() }),
    ]),
    diff: z.string(),
  }),
);
export type FileUpdateChange = Infer<typeof FileUpdateChange>;

const FileChangeItem = schema(() =>
  z.object({
    type: z.literal('fileChange'),
    id: z.string(),
    changes: z.array(FileUpdateChange()),
    status: z.enum(['inProgress', 'completed', 'failed', 'declined']),
    /** Ours: whether the files were changed is not known; the server stopped meanwhile. */
    outcome: z.literal('unknown').optional(),
    ...times,
  }),
);

/** What the agent proposes to do, for people to agree to; the model wrote it into the message around it. */
const PlanItem = schema(() => z.object({ type: z.literal('plan'), id: z.string(), text: z.string(), ...times }));

/** A call of a tool that a client declared and runs itself. */
const DynamicToolCallItem = schema(() =>
  z.object({
    type: z.literal('dynamicToolCall'),
    id: z.string(),
    namespace: z.string().nullable(),
    tool: z.string(),
    arguments: z.unknown(),
    status: z.enum(['inProgress', 'completed', 'failed']),
    contentItems: z.array(ClientToolContent()).nullable(),
    success: z.boolean().nullable(),
    durationMs: z.int().nullable(),
    /** Ours: the client was asked, and whether it did what it was asked for is not known. */
    outcome: z.literal('unknown').optional(),
    ...times,
  }),
);

/** What an MCP server gave back, in the form of MCP; `content` is cut where it was too long. */
export const McpToolResult = schema(() =>
  z.object({
    content: z.array(z.unknown()),
    structuredContent: z.unknown().nullable(),
    _meta: z.unknown().nullable(),
  }),
);
export type McpToolResult = Infer<typeof McpToolResult>;

/** A call of a tool of an MCP server by the model. A result of a failed call is the server's own word on the failure. */
const McpToolCallItem = schema(() =>
  z.object({
    type: z.literal('mcpToolCall'),
    id: z.string(),
    server: z.string(),
    environmentId: z.null(),
    tool: z.string(),
    status: z.enum(['inProgress', 'completed', 'failed']),
    arguments: z.unknown(),
    appContext: z.null(),
    mcpAppUi: z.null(),
    pluginId: z.null(),
    /** As the server says of its tool. */
    readOnlyHint: z.boolean().nullable(),
    result: McpToolResult().nullable(),
    error: z.object({ message: z.string() }).nullable(),
    durationMs: z.int().nullable(),
    /** Ours: the server was asked, and whether it did what it was asked for is not known. */
    outcome: z.literal('unknown').optional(),
    ...times,
  }),
);

/** The model was shown an image of the file system; the path is absolute. */
const ImageViewItem = schema(() =>
  z.object({ type: z.literal('imageView'), id: z.string(), path: z.string(), ...times }),
);

/** The provider searched the web within an answer; what it found is in the answer alone. */
const WebSearchItem = schema(() =>
  z.object({
    type: z.literal('webSearch'),
    id: z.string(),
    query: z.string(),
    action: WebSearchAction().nullable(),
    results: z.null(),
    ...times,
  }),
);

/** The model's view of the thread was replaced by a shorter one. */
const ContextCompactionItem = schema(() =>
  z.object({ type: z.literal('contextCompaction'), id: z.string(), ...times }),
);

/** A review began: `review` says of what; or ended: `review` is what the reviewer says. */
const EnteredReviewModeItem = schema(() =>
  z.object({ type: z.literal('enteredReviewMode'), id: z.string(), review: z.string(), ...times }),
);
const ExitedReviewModeItem = schema(() =>
  z.object({ type: z.literal('exitedReviewMode'), id: z.string(), review: z.string(), ...times }),
);

export const Item = schema(() =>
  z.discriminatedUnion('type', [
    UserMessageItem(),
    AgentMessageItem(),
    ReasoningItem(),
    CommandExecutionItem(),
    FileChangeItem(),
    PlanItem(),
    DynamicToolCallItem(),
    McpToolCallItem(),
    ImageViewItem(),
    WebSearchItem(),
    ContextCompactionItem(),
    EnteredReviewModeItem(),
    ExitedReviewModeItem(),
  ]),
);
export type Item = Infer<typeof Item>;
export type ItemOf<T extends Item['type']> = Extract<Item, { type: T }>;

export function userMessage(
  id: string,
  content: readonly UserInput[],
  clientId: string | null,
  atMs: number,
): ItemOf<'userMessage'> {
  return { type: 'userMessage', id, clientId, content: [...content], startedAtMs: atMs, completedAtMs: null };
}

export function agentMessage(id: string, phase: ItemOf<'agentMessage'>['phase'], atMs: number): ItemOf<'agentMessage'> {
  return {
    type: 'agentMessage',
    moderation: null,
    id,
    text: '',
    phase,
    memoryCitation: null,
    delivery: null,
    questions: null,
    startedAtMs: atMs,
    completedAtMs: null,
  };
}

export function reasoning(id: string, atMs: number): ItemOf<'reasoning'> {
  return { type: 'reasoning', id, summary: [], content: [], startedAtMs: atMs, completedAtMs: null };
}

export function planItem(id: string, atMs: number): ItemOf<'plan'> {
  return { type: 'plan', id, text: '', startedAtMs: atMs, completedAtMs: null };
}

export function reviewMode<T extends 'enteredReviewMode' | 'exitedReviewMode'>(
  type: T,
  id: string,
  review: string,
  atMs: number,
) {
  return { type, id, review, startedAtMs: atMs, completedAtMs: null };
}

export function webSearch(id: string, action: WebSearchAction, atMs: number): ItemOf<'webSearch'> {
  const query = queryOf(action);
  return { type: 'webSearch', id, query, action, results: null, startedAtMs: atMs, completedAtMs: null };
}

export function contextCompaction(id: string, atMs: number): ItemOf<'contextCompaction'> {
  return { type: 'contextCompaction', id, startedAtMs: atMs, completedAtMs: null };
}
