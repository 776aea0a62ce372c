// One call of a tool of an MCP server by the model: decided about, asked about, made, shown as an item.

import { decideMcpCall, type McpFacts, type Verdict } from '../approvals/rules.ts';
import type { TurnPort } from '../approvals/thread-port.ts';
import { fingerprint } from '../base/canonical.ts';
import { isAppError, messageOf } from '../base/errors.ts';
import { cancelledBy, throwIfAborted } from '../base/signals.ts';
import type { McpServer, ToolApproval } from '../config/mcp-servers.ts';
import type { CallAnswer, CallOptions } from '../mcp/call.ts';
import type { McpConnection } from '../mcp/connection.ts';
import { cappedResult } from '../mcp/result.ts';
import type { ServerSet } from '../mcp/server-set.ts';
import type { ProposalOf } from '../model/approval.ts';
import { type ItemId, newId } from '../model/ids.ts';
import type { ItemOf } from '../model/item.ts';
import type { McpCall, McpResult } from './backend.ts';
import { isPolicyAsShown, policyDigests } from './evidence.ts';
import type { ToolParts } from './tools.ts';

type CallItem = ItemOf<'mcpToolCall'>;
type Proposed = ProposalOf<'mcpToolCall'>;
type End = Pick<CallItem, 'status' | 'result' | 'error' | 'outcome'>;
type Tool = McpConnection['tools'][number];

/** What a call does at its server. */
export interface McpDeed {
  /** As the server describes it; undefined: it does not, or is not there now. */
  readonly described: Tool | undefined;
  /** As it is connected; undefined: it is not there, or it is no single one. */
  readonly server: McpServer | undefined;
  readonly hints: McpFacts['hints'];
  /** Settles once there is nobody left to call. */
  gone?(): Promise<void>;
  /** What is asked before it, as it is configured now. */
  mode(): ToolApproval;
  /** It asks every server there is, and belongs to none. */
  readonly isOfAllServers?: true;
  run(options: CallOptions): Promise<CallAnswer>;
}

/** The call of one of its tools. */
export function toolDeed(servers: ServerSet, { server, tool, arguments: given }: McpCall): McpDeed {
  const entry = servers.entries.find((each) => each.server.name === server);
  const described = entry?.connection?.tools.find(({ name }) => name === tool);
  const { readOnlyHint, destructiveHint, openWorldHint } = described?.annotations ?? {};
  return {
    described,
    server: entry?.server,
    hints: {
      ...(readOnlyHint === undefined ? {} : { readOnly: readOnlyHint }),
      ...(destructiveHint === undefined ? {} : { destructive: destructiveHint }),
      ...(openWorldHint === undefined ? {} : { openWorld: openWorldHint }),
    },
    gone: () => servers.gone(server),
    mode: () => entry?.server.approvalOf(tool) ?? 'auto',
    run: (options) => servers.call(server, { tool, arguments: given }, options),
  };
}

/** Messages of progress of one call that are shown; what comes beyond is not. */
const MAX_PROGRESS = 1_000;
const MAX_PROGRESS_TEXT = 2_000;

export class McpToolCall {
  readonly #port: TurnPort;
  readonly #parts: ToolParts;
  readonly #call: McpCall;
  readonly #deed: McpDeed;
  readonly #signal: AbortSignal;

  constructor(port: TurnPort, parts: ToolParts, call: McpCall, deed: McpDeed, signal: AbortSignal) {
    this.#port = port;
    this.#parts = parts;
    this.#call = call;
    this.#deed = deed;
    this.#signal = signal;
  }

  async run(wanted: ItemId): Promise<McpResult> {
    const verdict = this.#decide();
    const item = this.#newItem(await this.#port.uniqueItemId(wanted, 'call'));
    throwIfAborted(this.#signal);
    await this.#port.append([{ type: 'itemStarted', turnId: this.#port.turnId, item }]);
    if (verdict.decision === 'deny') return this.#end(item, failed(`the call was refused: ${verdict.rule}`));
    if (verdict.decision === 'allow') return this.#effect(item);
    return this.#ask(item, await this.#proposalFor(item, wanted, verdict.rule), false);
  }

  /** After a restart: the question stands, and its answer decides. */
  goOn(item: CallItem, proposal: Proposed): Promise<McpResult> {
    return this.#ask(item, proposal, true);
  }

  #decide(): Verdict {
    const { approvalPolicy: policy, sandboxPolicy: sandbox } = this.#port.settings();
    return decideMcpCall({
      ...{ policy, sandbox, mode: this.#deed.mode() },
      hints: this.#deed.hints,
      // What was accepted by others does not widen a turn that is held under the ceiling.
      isGranted: !this.#port.isCapped() && this.#port.grants.has(this.#grant),
      isCapped: this.#port.isCapped(),
    });
  }

  /** Whoever accepts a tool for the session accepts it whatever it is called with. */
  get #grant(): string {
    const { server, tool } = this.#call;
    return fingerprint(this.#deed.isOfAllServers ? { everyMcpServer: tool } : { mcpServer: server, tool });
  }

  async #ask(item: CallItem, proposal: Proposed, isStored: boolean): Promise<McpResult> {
    const options = { isStored, gone: this.#deed.gone?.() };
    const answer = await this.#parts.broker.ask(this.#port, proposal, this.#signal, options);
    if ('refusedBecause' in answer) return this.#end(item, failed(answer.refusedBecause));
    if (answer.decision === 'decline') return this.#end(item, failed('user rejected MCP tool call'));
    // The turn goes on, as in the reference: it is the call that was cancelled.
    if (answer.decision === 'cancel') return this.#end(item, failed('user cancelled MCP tool call'));
    const isAsShown = proposal.operationDigest === callDigest(this.#call);
    if (!isAsShown || !isPolicyAsShown(proposal, this.#port.settings()))
      return this.#end(item, failed('what would be called is no longer what was shown'));
    if (answer.decision !== 'accept') this.#port.grants.add(this.#grant, 'session');
    if (answer.decision === 'acceptAlways') await this.#remember();
    return this.#effect(item);
  }

  /** The call goes on if that fails: it was accepted. */
  async #remember(): Promise<void> {
    const { server, tool } = this.#call;
    try {
      await this.#parts.rememberMcpTool(server, tool);
    } catch (error) {
      if (!isAppError(error)) throw error;
      const message = `the tool ${tool} of ${server} could not be allowed for good: ${error.message}`;
      await this.#port.append([{ type: 'warned', turnId: this.#port.turnId, message }]);
    }
  }

  async #effect(item: CallItem): Promise<McpResult> {
    const begun = this.#parts.clock.elapsed();
    const end = await this.#made(item);
    const result = await this.#end(item, end, Math.round(this.#parts.clock.elapsed() - begun));
    if (this.#signal.aborted) throw cancelledBy(this.#signal);
    return result;
  }

  async #made(item: CallItem): Promise<End> {
    try {
      return endOf(await this.#deed.run({ signal: this.#signal, itemId: item.id, onProgress: this.#progressOf(item) }));
    } catch (error) {
      if (!isAppError(error)) throw error;
      return failed(this.#signal.aborted ? 'the call was stopped before it was made' : messageOf(error));
    }
  }

  #progressOf({ id: itemId }: CallItem): (message: string) => void {
    const { turnId } = this.#port;
    let left = MAX_PROGRESS;
    return (message) => {
      if (left-- <= 0) return;
      const parts = [message.slice(0, MAX_PROGRESS_TEXT)];
      this.#port.stream({ type: 'delta', turnId, itemId, stream: 'progress', parts }).catch(() => {}); // the end tells
    };
  }

  async #end(item: CallItem, end: End, durationMs = 0): Promise<McpResult> {
    const completed = { ...item, ...end, durationMs, completedAtMs: this.#parts.clock.now() };
    await this.#port.append([{ type: 'itemCompleted', turnId: this.#port.turnId, item: completed }]);
    if (end.result) {
      const { content, structuredContent } = end.result;
      return { kind: 'result', content, structuredContent, isError: end.status === 'failed' };
    }
    return { kind: 'failed', reason: end.error?.message ?? 'the call failed' };
  }

  #newItem(id: ItemId): CallItem {
    const { server, tool: name, arguments: given } = this.#call;
    return {
      ...{ type: 'mcpToolCall', id, server, environmentId: null, tool: name, status: 'inProgress', arguments: given },
      ...{ appContext: null, mcpAppUi: null, pluginId: null },
      readOnlyHint: this.#deed.described?.annotations?.readOnlyHint ?? null,
      ...{ result: null, error: null, durationMs: null },
      ...{ startedAtMs: this.#parts.clock.now(), completedAtMs: null },
    };
  }

  async #proposalFor(item: CallItem, callId: string, rule: string): Promise<Proposed> {
    const { described: tool, server } = this.#deed;
    const isConfigured = server !== undefined && (await this.#parts.mayRememberMcpTool(server));
    const settings = this.#port.settings();
    const now = this.#parts.clock.now();
    return {
      id: newId(),
      kind: 'mcpToolCall',
      turnId: this.#port.turnId,
      itemId: item.id,
      callId,
      server: item.server,
      tool: item.tool,
      title: tool?.title ?? tool?.annotations?.title ?? null,
      description: tool?.description?.slice(0, 4_000) ?? null,
      arguments: item.arguments,
      annotations: tool?.annotations ? { ...tool.annotations } : null,
      ...(this.#deed.isOfAllServers ? { isOfAllServers: true } : isConfigured ? {} : { isOfThread: true }),
      cwd: settings.cwd,
      reason: null,
      rule,
      operationDigest: callDigest(this.#call),
      ...policyDigests(settings),
      nonce: newId(),
      startedAtMs: now,
      expiresAtMs: now + this.#parts.approvalLifeMs(),
    };
  }
}

const callDigest = ({ server, tool, arguments: given }: McpCall): string => fingerprint({ server, tool, given });

const failed = (message: string): End => ({ status: 'failed', result: null, error: { message } });

function endOf(answer: CallAnswer): End {
  switch (answer.kind) {
    case 'result': {
      const { content, structuredContent, isError, meta } = cappedResult(answer);
      const result = { content, structuredContent, _meta: meta };
      return { status: isError ? 'failed' : 'completed', result, error: null };
    }
    case 'refused':
      return failed(answer.message);
    case 'lost':
      return { ...failed(answer.message), outcome: 'unknown' };
  }
}
