// What a thread refuses because of what it is doing.

import { AppError } from '../base/errors.ts';
import type { ThreadId, TurnId } from '../model/ids.ts';
import { turnError } from '../model/turn.ts';

export const isBusy = (threadId: ThreadId, activeTurnId: TurnId): AppError =>
  new AppError('conflict', 'thread already has an active turn', { threadId, activeTurnId });

export const isArchived = (threadId: ThreadId): AppError =>
  new AppError('conflict', `thread ${threadId} is archived: unarchive it first`, { threadId });

export const isCompacting = (threadId: ThreadId): AppError =>
  new AppError('conflict', 'the view of the model is being compacted', { threadId });

export const otherTurn = (threadId: ThreadId, turnId: TurnId, activeTurnId: TurnId): AppError =>
  new AppError('conflict', `expected active turn id ${turnId} but found ${activeTurnId}`, {
    threadId,
    turnId,
    activeTurnId,
  });

export const nothingToDo = (what: 'steer' | 'interrupt', threadId: ThreadId): AppError =>
  new AppError('conflict', `no active turn to ${what}`, { threadId });

export function notSteerable(threadId: ThreadId, turnKind: 'compact' | 'review'): AppError {
  const message = `cannot steer a ${turnKind} turn`;
  return new AppError('conflict', message, {
    ...turnError(message, { activeTurnNotSteerable: { turnKind } }),
    threadId,
  });
}
