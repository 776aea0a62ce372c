// How the nouns are written down: zod schemas behind functions, so that each is built when it is first needed.

import { z } from 'zod';
import { once } from '../base/lazy.ts';

/** A schema behind a function; calling it again gives the same schema. */
export type Schema<T extends z.ZodType = z.ZodType> = () => T;

/** The type that a schema describes, after parsing. */
export type Infer<S extends Schema> = z.output<ReturnType<S>>;

export function schema<T extends z.ZodType>(make: () => T): Schema<T> {
  return once(make);
}

/** A member that may be absent or null; both mean "not given". */
export function optional<T extends z.ZodType>(inner: T) {
  return inner.nullish();
}

export const JsonObject = schema(() => z.record(z.string(), z.unknown()));
export type JsonObject = Infer<typeof JsonObject>;

export const JsonValue = schema(() => z.json());

/** Levels of nesting of free JSON in requests: what is stored must be read and written again without exhausting the stack. */
const MAX_LEVELS = 100;

/** JSON of a client's own shape in a request: at most 100 levels deep, and of so many characters (default: 1 Mi). */
export function freeJson<T extends z.ZodType>(inner: T, maxCharacters = 1024 * 1024) {
  return inner.superRefine((value, context) => {
    const problem = problemOf(value, maxCharacters);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  });
}

/** A list or record of so many members at most; of a larger one none is looked at. */
export function atMost<T extends z.ZodType<object, object>>(inner: T, most: number) {
  return z.preprocess((value: z.input<T>, context) => {
    if (hasMoreThan(value, most)) context.addIssue({ code: 'custom', message: `more than ${most} are given` });
    return value;
  }, inner);
}

/** Counts no further than that. False for what has no members. */
export function hasMoreThan(value: unknown, most: number): boolean {
  if (Array.isArray(value)) return value.length > most;
  if (typeof value !== 'object' || value === null) return false;
  let count = 0;
  for (const _ in value) if (++count > most) return true;
  return false;
}

function problemOf(value: unknown, maxCharacters: number): string | undefined {
  if (isDeeperThan(value, MAX_LEVELS)) return `nested deeper than ${MAX_LEVELS} levels`;
  const text = JSON.stringify(value) as string | undefined;
  return (text?.length ?? 0) > maxCharacters ? `longer than ${maxCharacters} characters of JSON` : undefined;
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(member, levels - 1));
}
