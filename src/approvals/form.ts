// The form of an MCP server's question: its fields as people fill them in, and what may stand in them.

import type { ElicitationForm, ElicitationValue } from '../model/elicitation.ts';

export interface Option {
  readonly value: string;
  readonly title: string;
}

interface Common {
  readonly name: string;
  readonly title: string;
  readonly description: string | undefined;
  readonly isRequired: boolean;
  /** What the server suggests, if it would be taken. */
  readonly suggested: ElicitationValue | undefined;
}

/** Limits are inclusive; absent ones do not limit. */
export type Field = Common &
  (
    | {
        readonly kind: 'text';
        readonly format: string | undefined;
        readonly minimum: number | undefined;
        readonly maximum: number | undefined;
      }
    | {
        readonly kind: 'number';
        readonly isWhole: boolean;
        readonly minimum: number | undefined;
        readonly maximum: number | undefined;
      }
    | { readonly kind: 'yesNo' }
    | { readonly kind: 'one'; readonly options: readonly Option[] }
    | {
        readonly kind: 'several';
        /** Undefined: any words. */
        readonly options: readonly Option[] | undefined;
        readonly minimum: number | undefined;
        readonly maximum: number | undefined;
      }
    /** Of a type that no version of the protocol has: anything is taken. */
    | { readonly kind: 'unknown' }
  );

type Schema = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
const schemaOf = (value: unknown): Schema => (typeof value === 'object' && value !== null ? (value as Schema) : {});

/** In the order of the form. */
export function fieldsOf({ properties, required }: ElicitationForm): readonly Field[] {
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(properties).map(([name, property]) => {
    const schema = schemaOf(property);
    const common = {
      name,
      title: textOf(schema.title) ?? name,
      description: textOf(schema.description),
      isRequired: needed.includes(name),
      suggested: undefined,
    };
    const field = { ...common, ...kindOf(schema) };
    const suggested = schema.default as ElicitationValue | null | undefined;
    const isTaken = suggested !== undefined && suggested !== null && problemOf(field, suggested) === undefined;
    return isTaken ? { ...field, suggested } : field;
  });
}

type Kind = Field extends infer F ? (F extends Field ? Omit<F, keyof Common> : never) : never;

function kindOf(schema: Schema): Kind {
  const options = optionsOf(schema);
  switch (schema.type) {
    case 'string':
      if (options) return { kind: 'one', options };
      return {
        ...{ kind: 'text', format: textOf(schema.format) },
        ...{ minimum: numberOf(schema.minLength), maximum: numberOf(schema.maxLength) },
      };
    case 'number':
    case 'integer':
      return {
        ...{ kind: 'number', isWhole: schema.type === 'integer' },
        ...{ minimum: numberOf(schema.minimum), maximum: numberOf(schema.maximum) },
      };
    case 'boolean':
      return { kind: 'yesNo' };
    case 'array':
      return {
        ...{ kind: 'several', options: optionsOf(schemaOf(schema.items)) },
        ...{ minimum: numberOf(schema.minItems), maximum: numberOf(schema.maxItems) },
      };
    default:
      return { kind: 'unknown' };
  }
}

/** With titles where it has them, in whichever of the ways in which servers write them. Undefined: anything can be chosen. */
function optionsOf(schema: Schema): readonly Option[] | undefined {
  const titled = [schema.oneOf, schema.anyOf].find((each) => Array.isArray(each)) as readonly unknown[] | undefined;
  if (titled)
    return titled.flatMap((each) => {
      const { const: value, title } = schemaOf(each);
      return typeof value === 'string' ? [{ value, title: textOf(title) ?? value }] : [];
    });
  if (!Array.isArray(schema.enum)) return undefined;
  const names: readonly unknown[] = Array.isArray(schema.enumNames) ? schema.enumNames : [];
  return schema.enum.flatMap((value: unknown, at) =>
    typeof value === 'string' ? [{ value, title: textOf(names[at]) ?? value }] : [],
  );
}

/** Why this may not stand in the field, in words that do not repeat it. */
export function problemOf(field: Field, value: unknown): string | undefined {
  switch (field.kind) {
    case 'text':
      if (typeof value !== 'string') return 'it has to be text';
      return outside([...value].length, field, 'characters') ?? formatProblem(field.format, value);
    case 'number':
      if (typeof value !== 'number' || !Number.isFinite(value)) return 'it has to be a number';
      if (field.isWhole && !Number.isInteger(value)) return 'it has to be a whole number';
      return outside(value, field);
    case 'yesNo':
      return typeof value === 'boolean' ? undefined : 'it has to be yes or no';
    case 'one':
      return field.options.some((option) => option.value === value)
        ? undefined
        : 'it has to be one of those that are offered';
    case 'several':
      return severalProblem(field, value);
    case 'unknown':
      return isValue(value) ? undefined : 'it has to be text, a number, yes or no, or a list of texts';
  }
}

function severalProblem(field: Extract<Field, { kind: 'several' }>, value: unknown): string | undefined {
  if (!Array.isArray(value) || !value.every((each) => typeof each === 'string')) return 'it has to be a list of texts';
  const { options } = field;
  if (options && !value.every((each) => options.some((option) => option.value === each)))
    return 'each has to be one of those that are offered';
  if (options && new Set(value).size < value.length) return 'each can be chosen once';
  return outside(value.length, field, 'of them');
}

const isValue = (value: unknown): value is ElicitationValue =>
  ['string', 'number', 'boolean'].includes(typeof value) ||
  (Array.isArray(value) && value.every((each) => typeof each === 'string'));

interface Limits {
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
}

function outside(size: number, { minimum, maximum }: Limits, what?: string): string | undefined {
  const of = what === undefined ? '' : ` ${what}`;
  if (minimum !== undefined && size < minimum) return `it has to be at least ${minimum}${of}`;
  if (maximum !== undefined && size > maximum) return `it has to be at most ${maximum}${of}`;
  return undefined;
}

const DATE = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

const isDate = (text: string): boolean => {
  const date = new Date(`${text}T00:00:00Z`);
  return DATE.test(text) && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
};

/** A `pattern` is left to the server: what a stranger writes as one could keep us busy for ever. */
const FORMATS: Readonly<Record<string, { readonly holds: (text: string) => boolean; readonly words: string }>> = {
  email: { holds: (text) => /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)*$/.test(text), words: 'an email address' },
  uri: { holds: (text) => /^[a-z][a-z\d+.-]*:\S+$/i.test(text), words: 'an address such as https://example.com' },
  date: { holds: isDate, words: 'a date such as 2026-01-31' },
  'date-time': {
    holds: (text) => isDate(text.slice(0, 10)) && /^[Tt]$/.test(text.charAt(10)) && TIME.test(text.slice(11)),
    words: 'a date with a time such as 2026-01-31T12:00:00Z',
  },
};

/** What a text of this format is, in words for people. */
export const wordsOfFormat = (format: string | undefined): string | undefined =>
  format !== undefined && Object.hasOwn(FORMATS, format) ? FORMATS[format]?.words : undefined;

function formatProblem(format: string | undefined, value: string): string | undefined {
  const words = wordsOfFormat(format);
  return words === undefined || FORMATS[format as string]?.holds(value) ? undefined : `it has to be ${words}`;
}

/**
 * What was filled in, with only the fields of the form; null in a field is nothing. `leftOut`: what else there was.
 * `problem`: why it does not count; it names fields of the form and no values.
 */
export function readContent(
  form: ElicitationForm,
  given: Readonly<Record<string, unknown>>,
):
  | { readonly content: Readonly<Record<string, ElicitationValue>>; readonly leftOut: readonly string[] }
  | { readonly problem: string } {
  const fields = fieldsOf(form);
  const filled: [string, ElicitationValue][] = [];
  for (const field of fields) {
    const value = Object.hasOwn(given, field.name) ? given[field.name] : undefined;
    const isEmpty = value === undefined || value === null;
    if (isEmpty && field.isRequired) return { problem: `the field ${field.name} has to be filled in` };
    if (isEmpty) continue;
    const problem = problemOf(field, value);
    if (problem !== undefined) return { problem: `the field ${field.name} does not fit: ${problem}` };
    filled.push([field.name, value as ElicitationValue]);
  }
  const leftOut = Object.keys(given).filter((name) => !fields.some((field) => field.name === name));
  return { content: Object.fromEntries(filled), leftOut };
}
