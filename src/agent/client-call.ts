// One call of a tool that a client runs: shown as an item, asked of one client, and never asked again.

import type { ClientAnswer, TurnPort } from '../approvals/thread-port.ts';
import type { Clock } from '../base/clock.ts';
import { cancelledBy } from '../base/signals.ts';
import { type ClientToolContent, ClientToolResponse } from '../model/client-tool.ts';
import type { ItemId } from '../model/ids.ts';
import type { ItemOf } from '../model/item.ts';
import type { ClientToolCall, ClientToolResult } from './backend.ts';

type CallItem = ItemOf<'dynamicToolCall'>;
type End = Pick<CallItem, 'status' | 'contentItems' | 'success' | 'outcome'>;

/** Characters of an answer: with the item around it, it must fit a frame. */
const MAX_ANSWER = 8 * 1024 * 1024;

/** Rejects as *cancelled* when the signal aborts, after the item has been completed. */
export async function callClientTool(
  port: TurnPort,
  clock: Clock,
  wanted: ItemId,
  call: ClientToolCall,
  signal: AbortSignal,
): Promise<ClientToolResult> {
  const begun = clock.elapsed();
  const item = newItem(await port.uniqueItemId(wanted, 'call'), call, clock.now());
  const { turnId } = port;
  const question = { itemId: item.id, namespace: call.namespace, tool: call.tool, arguments: call.arguments };
  const answer = await port.askClient(question, () => port.append([{ type: 'itemStarted', turnId, item }]), signal);
  const end = endOf(answer);
  const durationMs = Math.round(clock.elapsed() - begun);
  const completed = { ...item, ...end, durationMs, completedAtMs: clock.now() };
  await port.append([{ type: 'itemCompleted', turnId, item: completed }]);
  if (signal.aborted) throw cancelledBy(signal);
  return { success: end.success === true, content: end.contentItems ?? [] };
}

function newItem(id: ItemId, call: ClientToolCall, atMs: number): CallItem {
  return {
    type: 'dynamicToolCall',
    id,
    namespace: call.namespace,
    tool: call.tool,
    arguments: call.arguments,
    status: 'inProgress',
    contentItems: null,
    success: null,
    durationMs: null,
    startedAtMs: atMs,
    completedAtMs: null,
  };
}

function endOf(answer: ClientAnswer): End {
  switch (answer.kind) {
    case 'result': {
      const parsed = ClientToolResponse().safeParse(answer.result);
      if (!parsed.success) return failed('dynamic tool response was invalid');
      if (sizeOf(parsed.data.contentItems) > MAX_ANSWER)
        return failed(`dynamic tool response was longer than ${MAX_ANSWER} characters`);
      const { contentItems, success } = parsed.data;
      return { status: success ? 'completed' : 'failed', contentItems, success };
    }
    case 'error':
      return failed('dynamic tool request failed');
    case 'nobody':
      return failed('dynamic tool request failed: no client is connected that could run it');
    case 'lost':
      return {
        ...failed(`dynamic tool request failed: ${answer.why}; whether it ran is not known`),
        outcome: 'unknown',
      };
    case 'stopped':
      return { ...NOTHING, ...(answer.wasAsked ? { outcome: 'unknown' as const } : {}) };
  }
}

const NOTHING: End = { status: 'failed', contentItems: [], success: false };

const failed = (text: string): End => ({ ...NOTHING, contentItems: [{ type: 'inputText', text }] });

const sizeOf = (items: readonly ClientToolContent[]): number =>
  items.reduce((sum, item) => sum + Object.values(item).reduce((length, text) => length + text.length, 0), 0);
