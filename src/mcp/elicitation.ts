// A question of a server to people, and what they may say to it.

import { z } from 'zod';

/** What a person is asked to fill in, as the server describes it. */
interface Form {
  readonly type: 'object';
  readonly properties: Record<string, unknown>;
  readonly [keyword: string]: unknown;
}

export type Elicitation =
  | { readonly mode: 'form'; readonly message: string; readonly requestedSchema: Form }
  | { readonly mode: 'url'; readonly message: string; readonly url: string; readonly elicitationId: string };

export type ElicitationValue = string | number | boolean | string[];

export interface ElicitationAnswer {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Record<string, ElicitationValue>;
  readonly [more: string]: unknown;
}

export const DECLINED: ElicitationAnswer = { action: 'decline' };

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
  const parsed = Question().safeParse(params);
  if (!parsed.success || JSON.stringify(parsed.data).length > MAX_QUESTION) return undefined;
  return parsed.data;
}

const Value = () => z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]);

/** What a client said, as it goes back: only the fields that were asked for. Undefined: it does not answer the question. */
export function readElicitationAnswer(question: Elicitation, result: unknown): ElicitationAnswer | undefined {
  const parsed = z
    .object({ action: z.enum(['accept', 'decline', 'cancel']), content: z.record(z.string(), z.unknown()).nullish() })
    .safeParse(result);
  if (!parsed.success) return undefined;
  const { action, content } = parsed.data;
  if (action !== 'accept') return { action };
  if (question.mode === 'url') return { action };
  const { properties = {}, required = [] } = question.requestedSchema as {
    readonly properties?: Readonly<Record<string, { readonly type?: unknown }>>;
    readonly required?: readonly unknown[];
  };
  const values: Record<string, ElicitationValue> = {};
  for (const [name, value] of Object.entries(content ?? {})) {
    if (!Object.hasOwn(properties, name) || value === null) continue;
    const read = Value().safeParse(value);
    if (!read.success || !isOfType(properties[name]?.type, read.data)) return undefined;
    values[name] = read.data;
  }
  const isWhole = required.every((name) => typeof name === 'string' && Object.hasOwn(values, name));
  return isWhole ? { action, content: values } : undefined;
}

function isOfType(type: unknown, value: ElicitationValue): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string';
    case 'number':
      return typeof value === 'number';
    case 'integer':
      return Number.isInteger(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'array':
      return Array.isArray(value);
    default:
      return true;
  }
}
