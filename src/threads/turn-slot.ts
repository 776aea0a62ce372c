// What a thread's queue and its own turns share with its actor: the order of its changes, its log, and the one turn that may run.

import type { Mailbox } from '../base/mailbox.ts';
import type { Once } from '../history/store.ts';
import type { ThreadEvent } from '../model/event.ts';
import type { ThreadId, TurnId } from '../model/ids.ts';
import type { OwnTurn } from './own-work.ts';
import type { RunningTurn } from './running-turn.ts';
import type { RuntimeParts } from './runtime-parts.ts';
import type { ThreadLog } from './thread-log.ts';
import type { TurnInput } from './turn-start.ts';

export interface TurnSlot {
  readonly threadId: ThreadId;
  readonly parts: RuntimeParts;
  readonly mailbox: Mailbox;
  readonly log: ThreadLog;
  readonly running: () => RunningTurn | undefined;
  /** The turn that was stopped last on request, whatever its end. */
  lastStopped: TurnId | undefined;
  /** Inside the mailbox: stores the beginning of a turn with what goes with it, in one transaction; *conflict* while one runs. */
  readonly accept: (turn: TurnInput, before: readonly ThreadEvent[], once?: Once, own?: OwnTurn) => Promise<void>;
  /** Lets an accepted turn run. */
  readonly begin: (turnId: TurnId) => void;
}
