// What is said of a thread that is not there, by whatever method it was asked for.

import { AppError } from '../base/errors.ts';

/** Its text holds both wordings that clients of the protocol look for, each in answers to some of the methods. */
export const noSuchThread = (threadId: string): AppError =>
  new AppError('notFound', `thread not found: ${threadId} (no rollout found for thread id ${threadId})`, { threadId });

/** The same for people. */
export const withoutWording = (text: string): string => text.replace(/ \(no rollout found for thread id .*\)$/, '');
