// What a backend may do (propose) and what the house does for it (dispose).

import type { Closable } from '../base/close.ts';
import type { ShellChoice } from '../children/shell-command.ts';
import type { PermissionGrant, UserAnswers, UserQuestion } from '../model/approval.ts';
import type { ClientToolContent } from '../model/client-tool.ts';
import type { ContextItem } from '../model/context.ts';
import type { ItemId, ThreadId, TurnId } from '../model/ids.ts';
import type { FileUpdateChange, ItemOf } from '../model/item.ts';
import type { Plan } from '../model/plan.ts';
import type { ThreadSettings } from '../model/thread.ts';
import type { TokenUsage, TurnError } from '../model/turn.ts';
import type { WebSearchAction } from '../model/web-search.ts';
import type { FileChange } from './patch/change.ts';

/** A model that turns can run on. */
export interface Model {
  readonly id: string;
  readonly displayName: string;
  readonly description: string;
  readonly provider: string;
  readonly hidden: boolean;
  readonly isDefault: boolean;
  readonly efforts: readonly { readonly effort: string; readonly description: string }[];
  readonly defaultEffort: string;
  readonly modalities: readonly ('text' | 'image' | 'audio')[];
  readonly contextWindow: number | null;
}

export interface ModelQuery {
  /** Whose models; default: those of the provider that new threads get. */
  readonly provider?: string;
  /**
   * Milliseconds to wait for a provider that is asked which models it has. Absent: it is not asked, and what is known counts.
   */
  readonly waitMs?: number;
  /** Over what is configured, for whoever asks. */
  readonly own?: OwnSettings;
}

/** Settings of one client or thread, as tables. */
export type OwnSettings = Readonly<Record<string, unknown>>;

/** Input that arrives while a turn runs. */
export interface Steering {
  /** Aborts when there is input to take; a new signal after each `take`. */
  readonly signal: AbortSignal;
  /**
   * What has arrived; it is part of the context from then on. A backend looks before it asks its model and before it ends;
   * what arrives after that is not taken, and the house finds it when the run has ended.
   */
  take(): readonly ContextItem[];
}

export interface TurnRequest {
  readonly threadId: ThreadId;
  readonly turnId: TurnId;
  readonly settings: ThreadSettings;
  readonly instructions: string;
  /** What the model has been shown so far, this turn's input and any unanswered tool calls included. */
  readonly context: readonly ContextItem[];
  readonly outputSchema?: unknown;
  /**
   * Whether it is to stop with *contextFull* before the context outgrows the model; `justMade`: the context was made shorter for
   * it, and that is not to be asked for again before an answer has shown that it did help. Absent: it asks in any case.
   */
  readonly room?: 'limited' | 'justMade';
  /** What a provider counted for the last request of the thread and its answer; null or absent where that is not known. */
  readonly contextTokens?: number | null;
  /** The tools of MCP servers that are there at this moment; a server that comes later is there the next time. */
  readonly mcpTools?: () => readonly McpToolOffer[];
  /** An MCP server that is there at this moment has resources. */
  readonly hasMcpResources?: () => boolean;
  /** Over what is configured. */
  readonly own?: OwnSettings;
  /** The model takes no images. */
  readonly isBlind?: boolean;
  readonly steering: Steering;
}

/**
 * What a backend reports, in order. The house makes items of it, stores them and shows them.
 * Everything begun is completed by the house if the backend stops before.
 */
export type BackendEvent =
  /** `text`: a message that came whole, without streaming. */
  | {
      readonly type: 'messageStarted';
      readonly itemId: ItemId;
      readonly phase: ItemOf<'agentMessage'>['phase'];
      readonly text?: string;
    }
  | { readonly type: 'text'; readonly itemId: ItemId; readonly parts: readonly string[] }
  | { readonly type: 'messageCompleted'; readonly itemId: ItemId; readonly text: string }
  /** A plan that the model proposes within a message, and that is shown beside it. */
  | { readonly type: 'planStarted'; readonly itemId: ItemId }
  | { readonly type: 'planText'; readonly itemId: ItemId; readonly parts: readonly string[] }
  | { readonly type: 'planCompleted'; readonly itemId: ItemId; readonly text: string }
  | { readonly type: 'reasoningStarted'; readonly itemId: ItemId }
  | {
      readonly type: 'searchStarted' | 'searchCompleted';
      readonly itemId: ItemId;
      readonly action: WebSearchAction;
    }
  | { readonly type: 'summaryPartAdded'; readonly itemId: ItemId; readonly index: number }
  | {
      readonly type: 'summaryText' | 'reasoningText';
      readonly itemId: ItemId;
      readonly index: number;
      readonly parts: readonly string[];
    }
  | {
      readonly type: 'reasoningCompleted';
      readonly itemId: ItemId;
      readonly summary: readonly string[];
      readonly content: readonly string[];
    }
  /** Of a patch that the model is writing: what there is of it. */
  | { readonly type: 'patchWritten'; readonly callId: ItemId; readonly changes: readonly FileUpdateChange[] }
  /** What the model will be shown from now on; durable before the next effect. */
  | { readonly type: 'contextAdded'; readonly items: readonly ContextItem[] }
  | { readonly type: 'usage'; readonly usage: TokenUsage; readonly contextWindow: number | null }
  | { readonly type: 'retrying'; readonly error: TurnError }
  | { readonly type: 'warning'; readonly message: string }
  /** The context has to be made shorter before the turn can go on; the last event. Every call in it has an output. */
  | { readonly type: 'contextFull' }
  /** The turn has failed; the last event. */
  | { readonly type: 'failed'; readonly error: TurnError };

/** A shell line that a model wants to run. */
export interface Command {
  readonly line: string;
  readonly cwd: string;
  /** The model asks to run outside the sandbox, and why. */
  readonly escalate: boolean;
  readonly reason: string | null;
  /** Milliseconds after which the whole process tree is ended; undefined: no limit of its own. */
  readonly timeoutMs?: number;
  /** Milliseconds after which the call ends and leaves the command running; undefined: it waits for the end. */
  readonly yieldMs?: number;
  /** On a terminal, which takes input; else it reads end-of-file at once. */
  readonly onTerminal?: boolean;
  /** What the model asks to have beyond the sandbox, for this command alone. */
  readonly permissions?: Omit<PermissionWish, 'reason'>;
  /** Default: bash, or what the user has, as a login shell. */
  readonly shell?: ShellChoice;
}

/** What a running or ended command has printed since it was last asked, each byte once, and how long the call took. */
export type CommandReading =
  | {
      readonly kind: 'ran';
      readonly exitCode: number;
      readonly output: string;
      readonly durationMs: number;
      readonly timedOut: boolean;
    }
  /** It runs on; the number is for `writeToCommand`. */
  | { readonly kind: 'running'; readonly session: string; readonly output: string; readonly durationMs: number };

export type CommandResult =
  | CommandReading
  /** Somebody or some rule said no; the turn goes on, and the model is told the reason. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Somebody said no and that the turn is to end. */
  | { readonly kind: 'cancelled' };

export type ChangeResult =
  | {
      readonly kind: 'changed';
      /** A letter and a path each: `A`dded, `M`odified, `D`eleted. */
      readonly summary: readonly string[];
      readonly durationMs: number;
    }
  /** It does not fit the files as they are, or could not be done; nothing was changed unless the text says so. */
  | { readonly kind: 'unfit'; readonly problem: string }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'cancelled' };

/** More than the sandbox allows, as the model asks for it: paths are absolute, or relative to the working folder of the thread. */
export interface PermissionWish {
  readonly network: boolean;
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly reason: string | null;
}

/** What holds from now on; nothing where it was refused. */
export type PermissionReply = PermissionGrant & { readonly refusedBecause?: string };

/** Empty where nobody answered. */
export type UserReply = UserAnswers & { readonly unansweredBecause?: string };
/** A call of a tool that a client declared, its arguments checked against the declaration. */
export interface ClientToolCall {
  readonly namespace: string | null;
  readonly tool: string;
  readonly arguments: unknown;
}

export interface ClientToolResult {
  readonly success: boolean;
  readonly content: readonly ClientToolContent[];
}

/** A tool of an MCP server as a model is offered it. */
export interface McpToolOffer {
  /** Unique among them, and such as providers take it. */
  readonly name: string;
  readonly server: string;
  readonly tool: string;
  readonly description: string;
  /** JSON Schema of the arguments, as the server gave it. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface McpCall {
  readonly server: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** A question about resources of MCP servers; `arguments`: as the model gave them, for those who watch. */
export type McpResourceQuery = { readonly arguments: Readonly<Record<string, unknown>> } & (
  | {
      readonly tool: 'list_mcp_resources' | 'list_mcp_resource_templates';
      /** Null: of all servers. */
      readonly server: string | null;
      readonly cursor: string | null;
    }
  | { readonly tool: 'read_mcp_resource'; readonly server: string; readonly uri: string }
);

export type McpResult =
  /** In the form of MCP; `isError`: the tool failed, and says how. */
  | {
      readonly kind: 'result';
      readonly content: readonly unknown[];
      readonly structuredContent: unknown;
      readonly isError: boolean;
    }
  /** There is no result: it was refused, or the server gave no answer. */
  | { readonly kind: 'failed'; readonly reason: string };

export type ImageResult =
  /** A data URL. */
  | { readonly kind: 'image'; readonly url: string }
  /** It cannot be shown; the text tells the model why. */
  | { readonly kind: 'problem'; readonly problem: string };
/** To a command of the thread that was left running. */
export interface CommandInput {
  readonly session: string;
  /** Empty: only looks. The character U+0003 interrupts what runs on a terminal, and ends what does not. */
  readonly chars: string;
  /** Milliseconds after which the call ends even if the command has not. */
  readonly waitMs: number;
}

export type WriteResult =
  | CommandReading
  | { readonly kind: 'refused'; readonly reason: string }
  /** Somebody said no and that the turn is to end. */
  | { readonly kind: 'cancelled' };

/** The only way out of a backend into the world. Each call is an item; its id is made unique by the house. */
export interface ToolHost {
  runCommand(item: ItemId, command: Command): Promise<CommandResult>;
  /** No item of its own: it is part of the command's. */
  writeToCommand(call: ItemId, input: CommandInput): Promise<WriteResult>;
  /** All of them, or none; calls of one turn are made one after the other. */
  changeFiles(item: ItemId, changes: readonly FileChange[]): Promise<ChangeResult>;
  /** Asks people; no item. What they allow holds for this turn or while the thread is loaded, and is never more than asked. */
  requestPermissions(call: ItemId, wish: PermissionWish): Promise<PermissionReply>;
  /** Asks people; no item, and nothing is allowed by their answers. */
  askUser(call: ItemId, questions: readonly UserQuestion[]): Promise<UserReply>;
  /** Has one client run a tool of its own; what fails in any way is no success. */
  callClientTool(item: ItemId, call: ClientToolCall): Promise<ClientToolResult>;
  /** Has an MCP server run a tool; what fails in any way is no success. */
  callMcpTool(item: ItemId, call: McpCall): Promise<McpResult>;
  /** Lists or reads what MCP servers have to read; JSON. No item where it names a server that there is not. */
  askMcpResources(item: ItemId, query: McpResourceQuery): Promise<McpResult>;
  /** Reads an image of the file system for the model; an item when it could be read. */
  viewImage(item: ItemId, path: string): Promise<ImageResult>;
  /** Replaces the list of steps that people follow. */
  updatePlan(plan: Plan): Promise<void>;
}

export interface Backend extends Closable {
  readonly name: string;
  /** Asked, never guessed from the name. */
  readonly abilities: { readonly steer: boolean; readonly images: boolean };
  /** The models of one provider. Rejects as *invalid* when there is no such provider. */
  models(query?: ModelQuery): Promise<readonly Model[]>;
  /**
   * Runs one turn, from where its context stands: tool calls without an output are made first. Ends when the turn is over;
   * throws as *cancelled* soon after the signal aborts. Arrays hold what one read of the wire brought; the next one is asked
   * for when the house has stored this one as far as it must be durable.
   */
  run(turn: TurnRequest, tools: ToolHost, signal: AbortSignal): AsyncIterable<readonly BackendEvent[]>;
}
