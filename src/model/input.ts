// What a person or program hands to a turn.

import { z } from 'zod';
import { type Infer, optional, schema } from './schema.ts';

const TextElement = schema(() =>
  z.object({
    byteRange: z.object({ start: z.int().min(0), end: z.int().min(0) }),
    placeholder: z.string().nullable().default(null),
  }),
);

const ImageDetail = schema(() => z.enum(['auto', 'low', 'high', 'original']));

const NOWHERE = 'either `url` or `fileId` is needed';
const leadsSomewhere = ({ url, fileId }: { url?: string | undefined; fileId?: string | undefined }): boolean =>
  (url ?? fileId) !== undefined;

export const UserInput = schema(() =>
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string(), text_elements: z.array(TextElement()).default([]) }),
    z
      .object({
        type: z.literal('image'),
        url: z.string().optional(),
        fileId: z.string().optional(),
        detail: ImageDetail().nullable().default(null),
      })
      .refine(leadsSomewhere, NOWHERE),
    z.object({ type: z.literal('localImage'), path: z.string(), detail: ImageDetail().nullable().default(null) }),
    z
      .object({ type: z.literal('audio'), url: z.string().optional(), fileId: z.string().optional() })
      .refine(leadsSomewhere, NOWHERE),
    z.object({ type: z.literal('localAudio'), path: z.string() }),
    z.object({ type: z.literal('skill'), name: z.string(), path: z.string() }),
    z.object({ type: z.literal('mention'), name: z.string(), path: z.string() }),
  ]),
);
export type UserInput = Infer<typeof UserInput>;

/** Largest text of one input in characters, as in the reference. */
export const MAX_INPUT_CHARACTERS = 1024 * 1024;

/** Parts of one input, and marked places in its texts: each is kept, shown and sent on by itself. */
export const MAX_INPUT_PARTS = 2_000;
export const MAX_TEXT_ELEMENTS = 20_000;

/** One line that stands for the input in lists; empty when it has no text. */
export function previewOf(input: readonly UserInput[]): string {
  return input
    .filter((part) => part.type === 'text')
    .map((part) => part.text)
    .join('\n');
}

/** A client's id for its own message, so that a repeated send can be told from a new one. */
export const ClientMessageId = schema(() => optional(z.string()));
