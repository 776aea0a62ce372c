// Work of a turn beside or instead of its backend's.

import type { TurnPort } from '../approvals/thread-port.ts';
import type { ContextItem } from '../model/context.ts';
import type { ThreadEvent } from '../model/event.ts';
import type { TurnError } from '../model/turn.ts';

/** Gives what the next turn's model is told about it. `spent` says why nothing more may be asked, once that is so. */
export type OwnWork = (
  port: TurnPort,
  signal: AbortSignal,
  spent: () => TurnError | undefined,
) => Promise<readonly ContextItem[]>;

/** A turn that does not ask the backend in the ordinary way, and the events that begin its work. */
export interface OwnTurn {
  readonly work: OwnWork;
  readonly events: readonly ThreadEvent[];
  /** Set on one that takes no input. */
  readonly kind?: 'compact' | 'review';
}

/** Why the turn's own work failed. */
export class TurnFailed extends Error {
  override readonly name = 'TurnFailed';
  readonly error: TurnError;

  constructor(error: TurnError) {
    super(error.message);
    this.error = error;
  }
}
