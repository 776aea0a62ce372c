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
