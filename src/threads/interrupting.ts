// Stopping a turn on request, which is the same twice as once.

import type { TurnId } from '../model/ids.ts';
import { nothingToDo, otherTurn } from './conflicts.ts';
import type { TurnSlot } from './turn-slot.ts';

/**
 * Settles when nothing of the turn can have an effect any more, at once for one that has been stopped before. An empty id means whatever
 * runs. Rejects as *conflict* when another turn or none runs, as *notSettled* when something still runs after ten seconds.
 */
export async function interrupt(slot: TurnSlot, turnId: TurnId): Promise<void> {
  const { threadId, log } = slot;
  const running = slot.running();
  const active = running && log.accepted.turn?.id;
  if (running && active !== undefined && (turnId === '' || turnId === active)) {
    await running.interrupt();
    slot.lastStopped = active;
    return;
  }
  if (turnId === '' || (await wasStopped(slot, turnId))) return;
  if (active === undefined) throw nothingToDo('interrupt', threadId);
  throw otherTurn(threadId, turnId, active);
}

/** Also one that had come to its end by itself in that moment, for whoever missed the answer. */
async function wasStopped({ threadId, lastStopped, parts }: TurnSlot, turnId: TurnId): Promise<boolean> {
  return lastStopped === turnId || (await parts.store.turn(threadId, turnId))?.status === 'interrupted';
}
