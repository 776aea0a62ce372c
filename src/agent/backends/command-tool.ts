// The tool that runs a shell line: what the model is told about it, how its arguments are read, what it gets back.

import { resolve } from 'node:path';
import { z } from 'zod';
import { type Infer, schema } from '../../model/schema.ts';
import type { Command, CommandResult, ToolHost, TurnRequest } from '../backend.ts';
import type { ToolSpec } from '../models/client.ts';
import type { ToolCall } from './conversation.ts';
import { shortened, tokensIn } from './output-text.ts';
import { applyPatch, readShellPatch } from './patch-tool.ts';
import { cancelledByAnswer, failed, readArguments, refused, type Tool, type ToolAnswer } from './tool.ts';

export const COMMAND_TOOL = 'exec_command';

/** Output that the model is shown at most, in tokens of about four characters. */
const MAX_OUTPUT_TOKENS = 10_000;

const commandToolSpec: ToolSpec = {
  name: COMMAND_TOOL,
  description:
    'Runs a shell command line and returns its exit code and output, standard output and standard error together. ' +
    'The call returns when the command has ended.',
  parameters: {
    type: 'object',
    properties: {
      cmd: { type: 'string', description: 'The command line.' },
      workdir: { type: 'string', description: 'Folder to run it in; the working folder of the thread if left out.' },
      timeout_ms: { type: 'number', description: 'Milliseconds after which it is ended; no limit if left out.' },
      max_output_tokens: {
        type: 'number',
        description: `Most output to return; the middle of a longer one is dropped. At most ${MAX_OUTPUT_TOKENS}.`,
      },
      sandbox_permissions: {
        type: 'string',
        enum: ['use_default', 'require_escalated'],
        description: 'require_escalated asks to run outside the sandbox; use it only when the sandbox is in the way.',
      },
      justification: { type: 'string', description: 'With require_escalated: one question to the user that says why.' },
    },
    required: ['cmd'],
    additionalProperties: false,
  },
};

const CommandArguments = schema(() =>
  z.object({
    cmd: z.string().min(1),
    workdir: z.string().nullish(),
    timeout_ms: z.number().positive().nullish(),
    max_output_tokens: z.number().positive().nullish(),
    sandbox_permissions: z.enum(['use_default', 'require_escalated']).nullish(),
    justification: z.string().nullish(),
  }),
);
type CommandArguments = Infer<typeof CommandArguments>;

export const commandTool: Tool = { spec: commandToolSpec, run };

async function run(call: ToolCall, turn: TurnRequest, tools: ToolHost): Promise<ToolAnswer> {
  const read = readArguments(COMMAND_TOOL, CommandArguments(), call.arguments);
  if ('problem' in read) return failed(read.problem);
  const command = commandOf(read.given, turn.settings.cwd);
  const patch = readShellPatch(command.line, command.cwd);
  if (patch) return applyPatch(call, patch, tools);
  const result = await tools.runCommand(call.callId, command);
  switch (result.kind) {
    case 'ran': {
      const output = commandOutput(result, read.given.max_output_tokens ?? MAX_OUTPUT_TOKENS);
      return { output, success: result.exitCode === 0 && !result.timedOut };
    }
    case 'refused':
      return refused(COMMAND_TOOL, result.reason);
    case 'cancelled':
      throw cancelledByAnswer();
  }
}

function commandOf(given: CommandArguments, cwd: string): Command {
  return {
    line: given.cmd,
    cwd: given.workdir ? resolve(cwd, given.workdir) : cwd,
    escalate: given.sandbox_permissions === 'require_escalated',
    reason: given.justification || null,
    ...(given.timeout_ms ? { timeoutMs: given.timeout_ms } : {}),
  };
}

/** What the model is shown of a command that ran. */
function commandOutput(result: Extract<CommandResult, { kind: 'ran' }>, maxTokens: number): string {
  return [
    `Wall time: ${(result.durationMs / 1000).toFixed(3)} seconds`,
    `Process exited with code ${result.exitCode}${result.timedOut ? ' (ended after its time limit)' : ''}`,
    `Original token count: ${tokensIn(result.output)}`,
    'Output:',
    shortened(result.output, Math.min(maxTokens, MAX_OUTPUT_TOKENS)),
  ].join('\n');
}
