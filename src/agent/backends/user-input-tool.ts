// The tool that asks people something while a plan is made: what the model is told about it, how its arguments are read, what it gets back.

import { z } from 'zod';
import type { UserQuestion } from '../../model/approval.ts';
import { type Infer, schema } from '../../model/schema.ts';
import type { ToolHost, TurnRequest } from '../backend.ts';
import { isPlanning } from '../collaboration.ts';
import type { ToolSpec } from '../models/client.ts';
import type { ToolCall } from './conversation.ts';
import { failed, readArguments, type Tool, type ToolAnswer } from './tool.ts';

const USER_INPUT_TOOL = 'request_user_input';

const text = (description: string) => ({ type: 'string', description });

const userInputSpec: ToolSpec = {
  name: USER_INPUT_TOOL,
  description:
    'Asks the user up to three short questions and waits for the answers. Only in plan mode. Use it for what only the user can decide.',
  parameters: {
    type: 'object',
    properties: {
      questions: {
        type: 'array',
        description: 'One to three questions.',
        items: {
          type: 'object',
          properties: {
            id: text('Name of the question, in snake_case; the answers come back under it.'),
            header: text('A heading of few characters.'),
            question: text('The question, in one sentence.'),
            options: {
              type: 'array',
              description: 'Two or three choices, the best one first; the user may always answer in own words.',
              items: {
                type: 'object',
                properties: {
                  label: text('The choice, in a few words.'),
                  description: text('What it would mean, in one sentence.'),
                },
                required: ['label', 'description'],
                additionalProperties: false,
              },
            },
          },
          required: ['id', 'header', 'question', 'options'],
          additionalProperties: false,
        },
      },
    },
    required: ['questions'],
    additionalProperties: false,
  },
};

const UserInputArguments = schema(() =>
  z.object({
    questions: z
      .array(
        z.object({
          id: z.string().min(1).max(200),
          header: z.string().max(1_000),
          question: z.string().min(1).max(20_000),
          options: z
            .array(z.object({ label: z.string().min(1).max(1_000), description: z.string().max(4_000) }))
            .max(20)
            .nullish(),
        }),
      )
      .min(1)
      .max(10)
      .refine((questions) => new Set(questions.map(({ id }) => id)).size === questions.length, 'ids must differ'),
  }),
);

export const userInputTool: Tool = { spec: userInputSpec, run };

async function run(call: ToolCall, turn: TurnRequest, tools: ToolHost): Promise<ToolAnswer> {
  // Outside of plan mode a model is to get on with its work.
  if (!isPlanning(turn.settings)) return failed(`${USER_INPUT_TOOL} is unavailable in Default mode`);
  const read = readArguments(USER_INPUT_TOOL, UserInputArguments(), call.arguments);
  if ('problem' in read) return failed(read.problem);
  const reply = await tools.askUser(call.callId, read.given.questions.map(questionOf));
  return { output: JSON.stringify(reply), success: true };
}

function questionOf({
  id,
  header,
  question,
  options,
}: Infer<typeof UserInputArguments>['questions'][number]): UserQuestion {
  const choices = options && options.length > 0 ? options : null;
  return { id, header, question, isOther: true, isSecret: false, options: choices };
}
