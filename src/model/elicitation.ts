// A question of an MCP server to people: a form to fill in, or an address to go to.

import { z } from 'zod';
import { type Infer, JsonObject, schema } from './schema.ts';

/** What a person is asked to fill in, as the server describes it: a JSON Schema of an object with flat fields. */
export const ElicitationForm = schema(() => z.looseObject({ type: z.literal('object'), properties: JsonObject() }));
export type ElicitationForm = Infer<typeof ElicitationForm>;

export const Elicitation = schema(() =>
  z.discriminatedUnion('mode', [
    z.object({ mode: z.literal('form'), message: z.string(), requestedSchema: ElicitationForm() }),
    z.object({ mode: z.literal('url'), message: z.string(), url: z.string(), elicitationId: z.string() }),
  ]),
);
export type Elicitation = Infer<typeof Elicitation>;

export type ElicitationValue = string | number | boolean | string[];

/** What was filled in, by the names of the fields. The server that asked is told, and it is kept nowhere. */
export type ElicitationContent = Readonly<Record<string, ElicitationValue>>;
