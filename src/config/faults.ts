// What is wrong with a configuration, said in one line that clients and people can use.

import type { z } from 'zod';
import { AppError, type ErrorData } from '../base/errors.ts';

/** Where in a file; lines and columns count from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface ConfigProblem {
  readonly message: string;
  readonly place: Place | undefined;
}

/** The text of a problem, after its place if it has one. */
export function problemText(problem: ConfigProblem): string {
  const { place, message } = problem;
  return place ? `${place.file}:${place.line}:${place.column}: ${message}` : message;
}

/** The error that requests get for a configuration that cannot be used. */
export function configError(text: string, data: ErrorData = {}): AppError {
  return new AppError('invalid', `failed to load configuration: ${text}`, data);
}

interface Fault {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** The first thing that a schema has against a value. */
export function firstFault(error: z.ZodError, value: unknown): Fault {
  const issue = error.issues[0];
  if (!issue) return { path: [], message: 'not valid' };
  const found = at(value, issue.path);
  const choices = choicesOf(issue);
  const where = issue.path.length > 0 ? ` in \`${issue.path.map(String).join('.')}\`` : '';
  if (choices.length === 0 || typeof found !== 'string')
    return { path: issue.path, message: `${issue.message}${where}` };
  const list = choices.map((choice) => `\`${choice}\``).join(', ');
  return { path: issue.path, message: `unknown variant \`${found}\`, expected one of ${list}${where}` };
}

function choicesOf(issue: z.core.$ZodIssue): readonly string[] {
  if (issue.code === 'invalid_value') return issue.values.map(String);
  if (issue.code === 'invalid_union') return issue.errors.flat().flatMap(choicesOf);
  return [];
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], value);
}
