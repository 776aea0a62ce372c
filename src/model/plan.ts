// The agent's own list of steps, for people to follow its work by.

import { z } from 'zod';
import { type Infer, schema } from './schema.ts';

export const Plan = schema(() =>
  z.object({
    explanation: z.string().nullable(),
    plan: z.array(z.object({ step: z.string(), status: z.enum(['pending', 'inProgress', 'completed']) })),
  }),
);
export type Plan = Infer<typeof Plan>;
