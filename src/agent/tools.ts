// The ToolHost: rules, then approval, then sandbox, then effect, in that order, for every backend.

import type { ApprovalBroker } from '../approvals/broker.ts';
import type { PrefixRules } from '../approvals/prefix-rules.ts';
import type { TurnPort } from '../approvals/thread-port.ts';
import type { Clock } from '../base/clock.ts';
import { Mailbox } from '../base/mailbox.ts';
import { throwIfAborted } from '../base/signals.ts';
import { loadShellParser } from '../children/shell-line.ts';
import type { McpServer } from '../config/mcp-servers.ts';
import type { Commits } from '../fs/replacement.ts';
import type { ServerSet } from '../mcp/server-set.ts';
import type { EventOf } from '../model/event.ts';
import type { ItemId } from '../model/ids.ts';
import type { Plan } from '../model/plan.ts';
import type { RunnerParts } from '../process/runner.ts';
import type {
  ChangeResult,
  ClientToolCall,
  ClientToolResult,
  Command,
  CommandInput,
  CommandResult,
  ImageResult,
  McpCall,
  McpResourceQuery,
  McpResult,
  ToolHost,
  WriteResult,
} from './backend.ts';
import { callClientTool } from './client-call.ts';
import { CommandCall } from './command-call.ts';
import { refusedAs } from './consent.ts';
import { FileChangeCall } from './file-call.ts';
import { imageViewer } from './image-view.ts';
import { refusalOfInput } from './input-consent.ts';
import { McpToolCall, toolDeed } from './mcp-call.ts';
import { resourceQuery } from './mcp-resources.ts';
import type { FileChange } from './patch/change.ts';
import { restoredFiles } from './patch/restored.ts';
import { TurnDiff } from './patch/turn-diff.ts';
import { requestPermissions } from './permission-request.ts';
import { isHarmless } from './session.ts';
import type { CommandSessions } from './sessions.ts';
import { askUser } from './user-question.ts';
import { CommandChanges } from './workspace/changes.ts';
import { FileContents } from './workspace/contents.ts';

export interface ToolParts {
  readonly broker: ApprovalBroker;
  readonly prefixRules: PrefixRules;
  readonly runner: RunnerParts;
  readonly commits: Commits;
  /** Absolute; made when it is needed. In there lies what it takes to look at what commands do, and none of them sees it. */
  readonly looksFolder: string;
  readonly clock: Clock;
  /** The whole environment of commands. */
  readonly environment: Readonly<Record<string, string>>;
  /** What no sandboxed command may see. */
  readonly hidden: readonly string[];
  /** What may be written to at all lies below one of them; undefined: everywhere. */
  readonly writableRoots?: readonly string[] | undefined;
  /** How long a question stands, in milliseconds of wall time. */
  readonly approvalLifeMs: () => number;
  /** Whether there is a setting of this very server, so that the next can be written. */
  readonly mayRememberMcpTool: (server: McpServer) => Promise<boolean>;
  /** Has the configuration allow a tool of an MCP server from now on; on disk when it resolves. */
  readonly rememberMcpTool: (server: string, tool: string) => Promise<void>;
  /** How long a client may take to run a tool of its own, in milliseconds. */
  readonly clientToolLifeMs: () => number;
}

/** The tools of one turn. A backend may stop waiting for a call that was aborted; the house may not. */
export interface TurnTools extends ToolHost {
  /** Settles when no call is under way, its items are completed, and nothing that any call started is left. Never rejects. */
  settled(): Promise<void>;
  /** All that patches and commands have changed, for the end of the turn; undefined: nothing was changed. */
  diff(): EventOf<'turnDiffUpdated'> | undefined;
}

/** What of its thread a turn's tools work with. */
export interface ThreadTools {
  /** The commands of the thread that run. */
  readonly sessions: CommandSessions;
  /** Absent where a turn has no MCP servers. */
  readonly mcp?: ServerSet;
}

/** `signal` ends whatever they run, but for commands that their calls have left running in the thread's sessions. */
export function createToolHost(
  port: TurnPort,
  parts: ToolParts,
  { sessions, mcp }: ThreadTools,
  signal: AbortSignal,
): TurnTools {
  const underWay = new Set<Promise<unknown>>();
  const track = (work: Promise<unknown>) => {
    underWay.add(work);
    void work.catch(() => {}).then(() => underWay.delete(work));
  };
  const diff = new TurnDiff();
  const lane = new Mailbox();
  const contents = new FileContents();
  let restored: Promise<void> | undefined;
  const resumed = () => (restored ??= resume(port, diff, contents));
  const changes = new CommandChanges({ port, tools: parts, diff, lane, contents, resumed }, signal);
  const runCommand = async (itemId: ItemId, command: Command): Promise<CommandResult> => {
    throwIfAborted(signal);
    if (!port.settings().hasEnvironment)
      return { kind: 'refused', reason: 'this thread has no environment to run commands in' };
    const shell = await loadShellParser();
    const call = new CommandCall(port, parts, shell, command, signal, track, { sessions, changes });
    const { item, proposal } = port.standing(itemId) ?? {};
    return item?.type === 'commandExecution' && proposal?.kind === 'command'
      ? call.goOn(item, proposal)
      : call.run(itemId);
  };
  const files = { tools: parts, diff, lane, told: (text: string) => changes.told(text) };
  const changeFiles = async (itemId: ItemId, wanted: readonly FileChange[]): Promise<ChangeResult> => {
    throwIfAborted(signal);
    if (!port.settings().hasEnvironment)
      return { kind: 'refused', reason: 'this thread has no environment to change files in' };
    await resumed();
    const call = new FileChangeCall(port, files, wanted, signal);
    const { item, proposal } = port.standing(itemId) ?? {};
    return item?.type === 'fileChange' && proposal?.kind === 'fileChange'
      ? call.goOn(item, proposal)
      : call.run(itemId);
  };
  const viewer = imageViewer(port, parts, signal);
  const showImage = async (itemId: ItemId, path: string): Promise<ImageResult> => {
    throwIfAborted(signal);
    if (!port.settings().hasEnvironment)
      return { kind: 'problem', problem: 'this thread has no environment to read files in' };
    return viewer(itemId, path);
  };
  const callClient = async (itemId: ItemId, call: ClientToolCall): Promise<ClientToolResult> => {
    throwIfAborted(signal);
    return callClientTool(port, parts.clock, itemId, call, signal);
  };
  const callMcp = async (itemId: ItemId, call: McpCall): Promise<McpResult> => {
    throwIfAborted(signal);
    if (!mcp) return { kind: 'failed', reason: 'this turn has no MCP servers' };
    return callMcpServer(new McpToolCall(port, parts, call, toolDeed(mcp, call), signal), itemId, port);
  };
  const askMcpResources = async (itemId: ItemId, query: McpResourceQuery): Promise<McpResult> => {
    throwIfAborted(signal);
    if (!mcp) return { kind: 'failed', reason: 'this turn has no MCP servers' };
    const asked = resourceQuery(query, mcp);
    if ('problem' in asked) return { kind: 'failed', reason: asked.problem };
    return callMcpServer(new McpToolCall(port, parts, asked.call, asked.deed, signal), itemId, port);
  };
  const updatePlan = async (plan: Plan): Promise<void> => {
    throwIfAborted(signal);
    await port.append([{ type: 'planUpdated', turnId: port.turnId, ...plan }]);
  };
  const tracked =
    <A extends unknown[], R>(call: (...given: A) => Promise<R>) =>
    (...given: A): Promise<R> => {
      const underWay = call(...given);
      track(underWay);
      return underWay;
    };
  return {
    runCommand: tracked(runCommand),
    writeToCommand: tracked(async (callId, input) => {
      if (!isHarmless(input.chars)) await changes.before();
      const result = await writeToCommand(callId, input, sessions, port, parts, signal);
      changes.after();
      return result;
    }),
    changeFiles: tracked(changeFiles),
    requestPermissions: tracked((callId, wish) => requestPermissions(port, parts, callId, wish, signal)),
    askUser: tracked((callId, questions) => askUser(port, parts, callId, questions, signal)),
    callClientTool: tracked(callClient),
    callMcpTool: tracked(callMcp),
    askMcpResources: tracked(askMcpResources),
    viewImage: tracked(showImage),
    updatePlan: tracked(updatePlan),
    diff() {
      if (diff.isEmpty) return undefined;
      return { type: 'turnDiffUpdated', turnId: port.turnId, diff: diff.text(port.settings().cwd) };
    },
    async settled() {
      while (underWay.size > 0) await Promise.allSettled(underWay);
      await changes.close(sessions.left.length > 0);
    },
  };
}

function callMcpServer(call: McpToolCall, itemId: ItemId, port: TurnPort): Promise<McpResult> {
  const { item, proposal } = port.standing(itemId) ?? {};
  const isStanding = item?.type === 'mcpToolCall' && proposal?.kind === 'mcpToolCall';
  return isStanding ? call.goOn(item, proposal) : call.run(itemId);
}

async function writeToCommand(
  callId: ItemId,
  { session: number, chars, waitMs }: CommandInput,
  sessions: CommandSessions,
  port: TurnPort,
  parts: ToolParts,
  signal: AbortSignal,
): Promise<WriteResult> {
  throwIfAborted(signal);
  const session = sessions.find(number);
  if (!session) return { kind: 'refused', reason: `no command with the session ID ${number} runs here` };
  const refusal = await refusalOfInput(port, parts, session, callId, chars, signal);
  return refusal ? refusedAs(refusal) : session.write(chars, waitMs, port, signal);
}

/** The diff of a turn that goes on begins with what it did before. */
async function resume(port: TurnPort, diff: TurnDiff, contents: FileContents): Promise<void> {
  const earlier = port.earlierDiff();
  if (earlier === null) return;
  diff.restore(await restoredFiles(earlier, port.settings().cwd, (path) => contents.now(path)));
}
