// How much a program may be told at its start: what the system would refuse anyway is refused before it costs anything.

import { AppError } from '../base/errors.ts';
import {
  MAX_START_BYTES as MAX_ALL,
  MAX_ARGUMENTS,
  MAX_TEXT_BYTES as MAX_TEXT,
  POINTER_BYTES as POINTER,
} from '../model/start-bounds.ts';

interface Told {
  readonly argv: readonly string[];
  /** Whoever changes an environment takes variables away by null or undefined. */
  readonly env: Readonly<Record<string, string | null | undefined>>;
}

/** Throws as *invalid*, naming the bound, what no program can be told at its start. */
export function checkStartSize({ argv, env }: Told): void {
  if (argv.length > MAX_ARGUMENTS) throw tooMuch(`more than ${MAX_ARGUMENTS} arguments`);
  let all = 0;
  const count = (bytes: number, what: () => string): void => {
    if (bytes > MAX_TEXT) throw tooMuch(`${what()} has more than ${MAX_TEXT} bytes`);
    all += bytes + POINTER;
    if (all > MAX_ALL)
      throw tooMuch(`arguments and environment have more than ${MAX_ALL} bytes together, with ${POINTER} for each`);
  };
  argv.forEach((argument, index) => {
    count(Buffer.byteLength(argument) + 1, () => `argument ${index}`);
  });
  for (const [name, value] of Object.entries(env))
    if (typeof value === 'string')
      count(Buffer.byteLength(name) + Buffer.byteLength(value) + 2, () => `variable ${name.slice(0, 64)}`);
}

const tooMuch = (what: string): AppError => new AppError('invalid', `too much to start a program with: ${what}`);
