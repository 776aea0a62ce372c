// The tool with which the model keeps its list of steps: what the model is told about it, and how a call of it is made.

import { z } from 'zod';
import { schema } from '../../model/schema.ts';
import type { ToolSpec } from '../models/client.ts';
import { failed, readArguments, type Tool } from './tool.ts';

export const PLAN_TOOL = 'update_plan';

const STATUSES = { pending: 'pending', in_progress: 'inProgress', completed: 'completed' } as const;

const planToolSpec: ToolSpec = {
  name: PLAN_TOOL,
  description:
    'Shows the user the steps of your work and how far they are. Use it for work of several steps: give all steps each time, ' +
    'with one of them in progress while you work, and mark a step as completed as soon as it is.',
  parameters: {
    type: 'object',
    properties: {
      explanation: { type: 'string', description: 'Why the steps are what they are now, if that is not clear.' },
      plan: {
        type: 'array',
        description: 'All steps, in their order.',
        items: {
          type: 'object',
          properties: {
            step: { type: 'string', description: 'What is done, in a few words.' },
            status: { type: 'string', enum: Object.keys(STATUSES) },
          },
          required: ['step', 'status'],
          additionalProperties: false,
        },
      },
    },
    required: ['plan'],
    additionalProperties: false,
  },
};

const PlanArguments = schema(() =>
  z.object({
    explanation: z.string().nullish(),
    plan: z
      .array(z.object({ step: z.string().max(10_000), status: z.enum(['pending', 'in_progress', 'completed']) }))
      .max(1_000),
  }),
);

export const planTool: Tool = {
  spec: planToolSpec,
  async run(call, _turn, tools) {
    const read = readArguments(PLAN_TOOL, PlanArguments(), call.arguments);
    if ('problem' in read) return failed(read.problem);
    const { explanation, plan } = read.given;
    const steps = plan.map(({ step, status }) => ({ step, status: STATUSES[status] }));
    await tools.updatePlan({ explanation: explanation ?? null, plan: steps });
    return { output: 'Plan updated', success: true };
  },
};
