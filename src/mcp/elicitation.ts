// A question of a server to people as it comes, and what the server is told.

import { z } from 'zod';
import type { Elicitation, ElicitationContent } from '../model/elicitation.ts';
import { freeJson } from '../model/schema.ts';

/** What goes back to the server. */
export interface ElicitationAnswer {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: ElicitationContent;
  readonly [more: string]: unknown;
}

/** Nobody was asked. */
export const DECLINED: ElicitationAnswer = { action: 'decline' };
/** Somebody may have been asked, and nobody has given an answer that counts. */
export const UNANSWERED: ElicitationAnswer = { action: 'decline' };

/** Characters of JSON of one question. */
const MAX_QUESTION = 256 * 1024;

const Question = () =>
  z.union([
    z.object({
      mode: z.literal('url'),
      message: z.string(),
      url: z.url({ protocol: /^https?$/ }),
      elicitationId: z.string(),
    }),
    z.object({
      mode: z.literal('form').default('form'),
      message: z.string(),
      requestedSchema: z.looseObject({ type: z.literal('object'), properties: z.record(z.string(), z.unknown()) }),
    }),
  ]);

/** Undefined: it is none that people could be asked. */
export function readElicitation(params: unknown): Elicitation | undefined {
  return freeJson(Question(), MAX_QUESTION).safeParse(params).data;
}
