// Makes the tool calls of one answer, side by side, and reports each output as it comes.

import { throwIfAborted, unlessAborted } from '../../base/signals.ts';
import type { ContextItem } from '../../model/context.ts';
import type { BackendEvent, ToolHost, TurnRequest } from '../backend.ts';
import type { Conversation, ToolCall } from './conversation.ts';
import { failed, type Tool } from './tool.ts';
import { toolsOf } from './tools.ts';

type Output = Extract<ContextItem, { type: 'toolOutput' }>;

/**
 * One array for each output, in the order in which calls end; each is durable before the next effect, so that no call is
 * made twice. Throws *cancelled* of kind `turn_cancelled` when somebody ended the turn instead of allowing a call.
 */
export async function* makeCalls(
  conversation: Conversation,
  turn: TurnRequest,
  tools: ToolHost,
  signal: AbortSignal,
): AsyncGenerator<readonly BackendEvent[], void> {
  throwIfAborted(signal);
  const running = new Map<string, Promise<Output>>();
  for (const call of conversation.unanswered()) {
    const output = makeCall(call, turn, tools);
    // When one call ends the turn nobody asks any more how the others went.
    output.catch(() => {});
    running.set(call.callId, output);
  }
  while (running.size > 0) {
    const output = await unlessAborted(Promise.race(running.values()), signal);
    running.delete(output.callId);
    conversation.add([output]);
    yield [{ type: 'contextAdded', items: [output] }];
  }
}

async function makeCall(call: ToolCall, turn: TurnRequest, tools: ToolHost): Promise<Output> {
  const { run } = toolsOf(turn).find(({ spec }) => spec.name === call.name) ?? unknownTool;
  const answer = await run(call, turn, tools);
  return { type: 'toolOutput', callId: call.callId, ...answer };
}

const unknownTool: Pick<Tool, 'run'> = { run: async ({ name }) => failed(`There is no tool ${name}.`) };
