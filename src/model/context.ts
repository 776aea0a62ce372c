// What the model is shown of a thread: a projection of its own, apart from the visible history.

import { z } from 'zod';
import { UserInput } from './input.ts';
import { type Infer, schema } from './schema.ts';

/** `url`: a data URL, or one where the provider can fetch it. */
export const OutputPart = schema(() =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string() }),
    z.object({ type: z.literal('image'), url: z.string() }),
  ]),
);
export type OutputPart = Infer<typeof OutputPart>;

export const ContextItem = schema(() =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('user'), content: z.array(UserInput()) }),
    /** Words of the server to the model, e.g. that work was interrupted. */
    z.object({
      type: z.literal('note'),
      text: z.string(),
      /** It stays when the view is made shorter. */
      isLasting: z.literal(true).optional(),
    }),
    z.object({
      type: z.literal('assistant'),
      id: z.string(),
      text: z.string(),
      phase: z.enum(['commentary', 'final_answer']).nullable(),
    }),
    /** `sealed` is the provider's own blob and is sent to no other provider. */
    z.object({
      type: z.literal('reasoning'),
      id: z.string(),
      summary: z.array(z.string()),
      content: z.array(z.string()),
      provider: z.string(),
      sealed: z.string().nullable(),
    }),
    /** An item in the provider's own form, sent as it is to the wire form that it belongs to. */
    z.object({ type: z.literal('raw'), item: z.record(z.string(), z.unknown()) }),
    z.object({
      type: z.literal('toolCall'),
      callId: z.string(),
      name: z.string(),
      arguments: z.string(),
      /** The model wrote plain text, which stands in the arguments as `input`. */
      custom: z.literal(true).optional(),
    }),
    z.object({
      type: z.literal('toolOutput'),
      callId: z.string(),
      output: z.string(),
      success: z.boolean(),
      /** Where the output is more than text: all of it in its order, the text in `output` among it. */
      content: z.array(OutputPart()).optional(),
    }),
  ]),
);
export type ContextItem = Infer<typeof ContextItem>;
