// Turns that the house begins by itself: a command of the user, compacting what the model sees, and reviews.

import type { ReviewTarget } from '../agent/review.ts';
import type { Once } from '../history/store.ts';
import { newId } from '../model/ids.ts';
import { compaction } from './compaction.ts';
import type { OwnWork } from './own-work.ts';
import { review } from './review.ts';
import type { TurnSlot } from './turn-slot.ts';
import { emptyTurn, type TurnInput } from './turn-start.ts';
import { type ShellRequest, UserShell } from './user-shell.ts';

/**
 * Accepts a command of the user, in the running turn or in a turn of its own: stored when this settles, running once the
 * returned function has been called.
 */
export async function startShell(slot: TurnSlot, wanted: ShellRequest, once?: Once): Promise<() => void> {
  const { clock, tools } = slot.parts;
  const command = await UserShell.prepare(wanted, slot.log.stored.meta.settings.cwd, tools, clock);
  for (;;) {
    const begin = await slot.mailbox.run(() => acceptShell(slot, command, once));
    if (begin) return begin;
    await slot.running()?.done;
  }
}

/** Undefined: the running turn is about to end. */
async function acceptShell(slot: TurnSlot, command: UserShell, once?: Once): Promise<(() => void) | undefined> {
  const work: OwnWork = (port, signal) => command.run(port, signal);
  const running = slot.running();
  if (!running) {
    const turnId = newId();
    await slot.accept(emptyTurn(turnId), [], once, { work, events: [command.started(turnId)] });
    return () => slot.begin(turnId);
  }
  const join = running.join();
  if (!join) return undefined;
  const storing = slot.log.append([command.started(running.id)], once);
  storing.catch(() => join(undefined));
  await storing;
  return () => join(work);
}

/** Accepts a turn that compacts the model's view; like `startShell`, but rejects as *conflict* while a turn runs. */
export function startCompaction(slot: TurnSlot, once?: Once): Promise<() => void> {
  const { backend, clock } = slot.parts;
  return slot.mailbox.run(async () => {
    const turnId = newId();
    const context = () => slot.log.context();
    const own = compaction(turnId, { backend, clock, context, usage: slot.log.stored.meta.usage });
    await slot.accept(emptyTurn(turnId), [], once, { ...own, kind: 'compact' });
    return () => slot.begin(turnId);
  });
}

/** What is reviewed, and for whom. */
export interface ReviewRequest extends Pick<TurnInput, 'turnId' | 'isCapped'> {
  readonly target: ReviewTarget;
  /** Null: that of the thread. */
  readonly model: string | null;
}

/** Accepts a turn in which the model reviews changes; like `startCompaction`. */
export function startReview(slot: TurnSlot, wanted: ReviewRequest, once?: Once): Promise<() => void> {
  const { turnId, target, isCapped, model } = wanted;
  const { backend, tools, clock, log } = slot.parts;
  return slot.mailbox.run(async () => {
    const { usage } = slot.log.stored.meta;
    await slot.accept(
      emptyTurn(turnId, isCapped),
      [],
      once,
      review(turnId, target, { backend, tools, clock, log, usage, model }),
    );
    return () => slot.begin(turnId);
  });
}
