// The tool that looks at a command that was left running, and writes to it.

import { z } from 'zod';
import { type Infer, schema } from '../../model/schema.ts';
import type { CommandInput } from '../backend.ts';
import type { ToolSpec } from '../models/client.ts';
import { MAX_OUTPUT_TOKENS, readingAnswer } from './command-output.ts';
import { cancelledByAnswer, failed, readArguments, refused, type Tool } from './tool.ts';

export const STDIN_TOOL = 'write_stdin';

/** Milliseconds. Looking costs a request to the model each time, so that it pays to wait. */
const AFTER_INPUT = { usual: 250, least: 250, most: 30_000 };
const LOOKING = { usual: 5_000, least: 5_000, most: 300_000 };

const spec: ToolSpec = {
  name: STDIN_TOOL,
  description:
    'Writes to a command that exec_command has left running, waits, and returns what the command has printed since the last call. ' +
    'With empty chars it only waits and looks.',
  parameters: {
    type: 'object',
    properties: {
      session_id: { type: 'number', description: 'The session ID that exec_command gave.' },
      chars: {
        type: 'string',
        description:
          'What to type, with "\\n" where Enter is pressed. Only commands started with tty take it. "\\u0003" alone interrupts one with tty and ends any other.',
      },
      yield_time_ms: {
        type: 'number',
        description: `Milliseconds to wait for the command to end: ${AFTER_INPUT.usual} if left out, at most ${AFTER_INPUT.most}; with empty chars from ${LOOKING.least} to ${LOOKING.most}.`,
      },
      max_output_tokens: {
        type: 'number',
        description: `Most output to return; the middle of a longer one is dropped. At most ${MAX_OUTPUT_TOKENS}.`,
      },
    },
    required: ['session_id'],
    additionalProperties: false,
  },
};

const Arguments = schema(() =>
  z.object({
    session_id: z.number().int(),
    chars: z.string().nullish(),
    yield_time_ms: z.number().nonnegative().nullish(),
    max_output_tokens: z.number().positive().nullish(),
  }),
);

export const stdinTool: Tool = {
  spec,
  async run(call, _turn, tools) {
    const read = readArguments(STDIN_TOOL, Arguments(), call.arguments);
    if ('problem' in read) return failed(read.problem);
    const result = await tools.writeToCommand(call.callId, inputOf(read.given));
    if (result.kind === 'cancelled') throw cancelledByAnswer();
    return result.kind === 'refused'
      ? refused(STDIN_TOOL, result.reason)
      : readingAnswer(result, read.given.max_output_tokens ?? undefined);
  },
};

function inputOf({ session_id, chars, yield_time_ms }: Infer<typeof Arguments>): CommandInput {
  const { usual, least, most } = chars ? AFTER_INPUT : LOOKING;
  return {
    session: String(session_id),
    chars: chars ?? '',
    waitMs: Math.min(Math.max(yield_time_ms ?? usual, least), most),
  };
}
