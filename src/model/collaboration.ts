// Ways for people and agent to work together.

import { z } from 'zod';
import { type Infer, schema } from './schema.ts';

const ModeKind = schema(() => z.enum(['plan', 'default']));

/** As a client chooses it: it brings its model and effort, and instructions that replace the mode's own. */
export const CollaborationMode = schema(() =>
  z.object({
    mode: ModeKind(),
    settings: z.object({
      model: z.string(),
      reasoning_effort: z.string().nullish(),
      developer_instructions: z
        .string()
        .max(64 * 1024)
        .nullish(),
    }),
  }),
);
export type CollaborationMode = Infer<typeof CollaborationMode>;

/** A mode on offer; what is null stays as the thread has it. */
export const CollaborationModeMask = schema(() =>
  z.object({
    name: z.string(),
    mode: ModeKind().nullable(),
    model: z.string().nullable(),
    reasoning_effort: z.string().nullable(),
  }),
);

export const COLLABORATION_MODES: readonly Infer<typeof CollaborationModeMask>[] = [
  { name: 'Plan', mode: 'plan', model: null, reasoning_effort: 'medium' },
  { name: 'Default', mode: 'default', model: null, reasoning_effort: null },
];
