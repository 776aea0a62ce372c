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
  return isAppError(error, 'invalid') && !isOfFile(error) ? EXIT.usage : EXIT.failed;
}

/** The configuration file is wrong, not what was typed: the message has the place. */
const isOfFile = ({ message }: Error): boolean => /^failed to load configuration: \S.*?:\d+:\d+: /.test(message);

/** As people need it, with what to do about it. */
export const wordsOf = (error: unknown): string => `${withoutWording(messageOf(error))}${adviceOn(error)}`;

function adviceOn(error: unknown): string {
  if (isAppError(error, 'notFound') && error.message.startsWith('thread not found'))
    return '; `heddle threads list` shows those that there are';
  if (!isAppError(error)) return '';
  const { permission, type } = error.data;
  if (type === 'modelProviderNotConfigured') return '; add it to model_providers in config.yaml, or choose another one';
  if (typeof permission !== 'string') return '';
  return `; a token gives it that is signed with it in \`--scope\`, or is that of a server with it in \`--ws-scopes\``;
}

/** The lines for people; a defect shows where it happened. */
export function complaintOf(error: unknown, help: string): string {
  if (isAppError(error, 'invalid') && !isOfFile(error)) return `heddle: ${error.message}\ntry: ${help}\n`;
  if (isAppError(error)) return `heddle: ${wordsOf(error)}\n`;
  return `heddle: ${(error instanceof Error && error.stack) || messageOf(error)}\n`;
}
