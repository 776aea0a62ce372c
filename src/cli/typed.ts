// Values as they were typed: a flag that stands once, and was given once.

import { AppError } from '../base/errors.ts';
import type { Values } from './command-tree.ts';

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

/** A flag with a value; `completes`: what its values are, for shells that complete them. */
export const text = (describe: string, completes?: Values) =>
  ({ type: 'string', requiresArg: true, describe, completes }) as const;

/** An argument that is none of a flag. */
export const argument = (describe: string, completes?: Values) => ({ type: 'string', describe, completes }) as const;

export const needed = (describe: string, completes?: Values) =>
  ({ ...argument(describe, completes), demandOption: true }) as const;

const BACKENDS = ['runtime', 'mock', 'unavailable'] as const;

export const backendOption = (describe: string) => text(describe, BACKENDS);

export const dataDirOption = text('Default HEDDLE_HOME, else ~/.heddle', 'folder');

/** For commands that run turns. */
export const configOption = {
  alias: 'c',
  type: 'string',
  array: true,
  requiresArg: true,
  describe: 'A setting as key=value, above the configuration file; repeatable',
} as const;
