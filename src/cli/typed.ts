// Values as they were typed: a flag that stands once, and was given once.

import { AppError } from '../base/errors.ts';

/** Throws as *invalid* when the flag was given more than once. */
export function single(flag: string, value: string | readonly string[] | undefined): string | undefined {
  if (typeof value === 'object')
    throw new AppError('invalid', `\`${flag}\` was given ${value.length} times; give it once`);
  return value;
}

/** A whole number of the flag's own unit. Throws as *invalid*. */
export function wholeNumber(flag: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (/^\d{1,15}$/.test(value)) return number;
  throw new AppError('invalid', `${flag} \`${value}\` is not a whole number; type one such as \`${flag} 30\``);
}

/** The parts of lists that are separated by commas or blanks. Undefined: not given. */
export function listed(values: readonly string[] | undefined): readonly string[] | undefined {
  return values?.flatMap((value) => value.split(/[\s,]+/)).filter((part) => part !== '');
}

/** A flag with a value. */
export const text = (describe: string) => ({ type: 'string', requiresArg: true, describe }) as const;

/** For commands that run turns. */
export const configOption = {
  alias: 'c',
  type: 'string',
  array: true,
  requiresArg: true,
  describe: 'A setting as key=value, above the configuration file; repeatable',
} as const;
