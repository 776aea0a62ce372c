// The tool that runs a shell line: what the model is told about it, how its arguments are read, what it gets back.

import { resolve } from 'node:path';
import { z } from 'zod';
import { isKnownShell } from '../../children/shell-command.ts';
import { type Infer, schema } from '../../model/schema.ts';
import type { Command, ToolHost, TurnRequest } from '../backend.ts';
import type { ToolSpec } from '../models/client.ts';
import { MAX_OUTPUT_TOKENS, readingAnswer } from './command-output.ts';
import type { ToolCall } from './conversation.ts';
import { applyPatch, readShellPatch } from './patch-tool.ts';
import { PermissionArguments, permissionsParameter, wishOf } from './permissions-tool.ts';
import { cancelledByAnswer, failed, readArguments, refused, type Tool, type ToolAnswer } from './tool.ts';

export const COMMAND_TOOL = 'exec_command';

/** Milliseconds that the model waits for a command. */
const YIELD = { usual: 10_000, least: 250, most: 3_600_000 };

const commandToolSpec: ToolSpec = {
  name: COMMAND_TOOL,
  description:
    'Runs a shell command line and returns its exit code and output, standard output and standard error together. A command that ' +
    'has not ended after yield_time_ms runs on; the call returns its session ID then, for write_stdin.',
  parameters: {
    type: 'object',
    properties: {
      cmd: { type: 'string', description: 'The command line.' },
      workdir: { type: 'string', description: 'Folder to run it in; the working folder of the thread if left out.' },
      yield_time_ms: {
        type: 'number',
        description: `Milliseconds to wait for its end: ${YIELD.usual} if left out, at most ${YIELD.most}.`,
      },
      tty: {
        type: 'boolean',
        description: 'Runs it on a terminal, so that write_stdin can type into it; without one it reads end-of-file.',
      },
      shell: { type: 'string', description: 'Shell for the line, e.g. sh or zsh; bash if left out.' },
      login: { type: 'boolean', description: 'false: not as a login shell, so without the profile of the user.' },
      timeout_ms: { type: 'number', description: 'Milliseconds after which it is ended; no limit if left out.' },
      max_output_tokens: {
        type: 'number',
        description: `Most output to return; the middle of a longer one is dropped. At most ${MAX_OUTPUT_TOKENS}.`,
      },
      sandbox_permissions: {
        type: 'string',
        enum: ['use_default', 'require_escalated', 'with_additional_permissions'],
        description:
          'require_escalated asks to run outside the sandbox; use it only when the sandbox is in the way. ' +
          'with_additional_permissions asks to run inside of it with additional_permissions.',
      },
      additional_permissions: {
        ...permissionsParameter,
        description: 'With with_additional_permissions: what this command alone is to have beyond the sandbox.',
      },
      justification: { type: 'string', description: 'Where the user is asked: one question that says why.' },
    },
    required: ['cmd'],
    additionalProperties: false,
  },
};

const CommandArguments = schema(() =>
  z.object({
    cmd: z.string().min(1),
    workdir: z.string().nullish(),
    yield_time_ms: z.number().nonnegative().nullish(),
    tty: z.boolean().nullish(),
    shell: z.string().refine(isKnownShell, 'not a shell that can be chosen: sh, bash, dash, ksh or zsh').nullish(),
    login: z.boolean().nullish(),
    timeout_ms: z.number().positive().nullish(),
    max_output_tokens: z.number().positive().nullish(),
    sandbox_permissions: z.enum(['use_default', 'require_escalated', 'with_additional_permissions']).nullish(),
    additional_permissions: PermissionArguments().nullish(),
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
    case 'ran':
    case 'running':
      return readingAnswer(result, read.given.max_output_tokens ?? undefined);
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
    ...permissionsFor(given),
    yieldMs: Math.min(Math.max(given.yield_time_ms ?? YIELD.usual, YIELD.least), YIELD.most),
    ...(given.tty ? { onTerminal: true } : {}),
    ...(given.shell || given.login === false ? { shell: shellOf(given) } : {}),
    ...(given.timeout_ms ? { timeoutMs: given.timeout_ms } : {}),
  };
}

/** Whoever asks to leave the sandbox needs none. */
function permissionsFor({
  sandbox_permissions,
  additional_permissions,
}: CommandArguments): Pick<Command, 'permissions'> {
  if (sandbox_permissions !== 'with_additional_permissions' || !additional_permissions) return {};
  return { permissions: wishOf(additional_permissions) };
}

const shellOf = ({ shell, login }: CommandArguments): NonNullable<Command['shell']> => ({
  ...(shell ? { program: shell } : {}),
  ...(login === false ? { isLogin: false } : {}),
});
