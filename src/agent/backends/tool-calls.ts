// Makes the tool calls of one answer, side by side, and reports each output as it comes.

import { AppError } from '../../base/errors.ts';
import { throwIfAborted, unlessAborted } from '../../base/signals.ts';
import type { ContextItem } from '../../model/context.ts';
import type { BackendEvent, ToolHost, TurnRequest } from '../backend.ts';
import { COMMAND_TOOL, commandOutput, readCommand } from './command-tool.ts';
import type { Conversation, ToolCall } from './conversation.ts';
import { failure, PATCH_TOOL, patchOutput, type ReadPatch, readPatchCall, readShellPatch } from './patch-tool.ts';

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

function makeCall(call: ToolCall, turn: TurnRequest, tools: ToolHost): Promise<Output> {
  const answer: Answering = (output, success) => ({ type: 'toolOutput', callId: call.callId, output, success });
  switch (call.name) {
    case COMMAND_TOOL:
      return runCommand(call, turn, tools, answer);
    case PATCH_TOOL:
      return applyPatch(call, readPatchCall(call.arguments), tools, answer);
    default:
      return Promise.resolve(answer(`There is no tool ${call.name}.`, false));
  }
}

type Answering = (output: string, success: boolean) => Output;

async function runCommand(call: ToolCall, turn: TurnRequest, tools: ToolHost, answer: Answering): Promise<Output> {
  const read = readCommand(call.arguments, turn.settings.cwd);
  if ('problem' in read) return answer(read.problem, false);
  const patch = readShellPatch(read.command.line, read.command.cwd);
  if (patch) return applyPatch(call, patch, tools, answer);
  const result = await tools.runCommand(call.callId, read.command);
  switch (result.kind) {
    case 'ran':
      return answer(commandOutput(result, read.maxOutputTokens), result.exitCode === 0 && !result.timedOut);
    case 'refused':
      return answer(refusal(COMMAND_TOOL, result.reason), false);
    case 'cancelled':
      throw cancelledByAnswer();
  }
}

async function applyPatch(call: ToolCall, read: ReadPatch, tools: ToolHost, answer: Answering): Promise<Output> {
  if ('problem' in read) return answer(read.problem, false);
  const result = await tools.changeFiles(call.callId, read.changes);
  switch (result.kind) {
    case 'changed':
      return answer(patchOutput(result), true);
    case 'unfit':
      return answer(failure(result.problem), false);
    case 'refused':
      return answer(refusal(PATCH_TOOL, result.reason), false);
    case 'cancelled':
      throw cancelledByAnswer();
  }
}

const refusal = (tool: string, reason: string): string => `${tool} was refused: ${reason || 'rejected by user'}`;

const cancelledByAnswer = (): AppError =>
  new AppError('cancelled', 'the turn was ended by the answer to an approval', { kind: 'turn_cancelled' });
