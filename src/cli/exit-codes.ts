// What the exit codes of the executable mean, and how an error becomes one.

import { isAppError, messageOf } from '../base/errors.ts';
import { withoutWording } from '../model/missing.ts';

export const EXIT = {
  done: 0,
  failed: 1,
  /** What was typed cannot be carried out; the message says what to type instead. */
  usage: 2,
  /** A turn ended because somebody, or nobody being there, said no. */
  refused: 3,
  unreachable: 4,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export function exitCodeOf(error: unknown): ExitCode {
  return isAppError(error, 'invalid') ? EXIT.usage : EXIT.failed;
}

const THREADS = '; `heddle threads list` shows those that there are';

const isNoThread = (error: unknown): boolean =>
  isAppError(error, 'notFound') && error.message.startsWith('thread not found');

/** As people need it. */
export const wordsOf = (error: unknown): string => withoutWording(messageOf(error));

/** The lines for people; a defect shows where it happened. */
export function complaintOf(error: unknown, help: string): string {
  if (isAppError(error, 'invalid')) return `heddle: ${error.message}\ntry: ${help}\n`;
  if (isAppError(error)) return `heddle: ${wordsOf(error)}${isNoThread(error) ? THREADS : ''}\n`;
  return `heddle: ${(error instanceof Error && error.stack) || messageOf(error)}\n`;
}
