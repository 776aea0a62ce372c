// Giving a running turn more input.

import { AppError } from '../base/errors.ts';
import type { Once } from '../history/store.ts';
import type { EventOf } from '../model/event.ts';
import type { TurnId } from '../model/ids.ts';
import type { UserInput } from '../model/input.ts';
import { nothingToDo, notSteerable } from './conflicts.ts';
import type { TurnSlot } from './turn-slot.ts';
import { type SteerInput, steeredEvent } from './turn-start.ts';

interface Wanted extends SteerInput {
  /** What the model is to see where that is something else. */
  shown(): Promise<UserInput[] | undefined>;
}

/** On disk when this settles. False: the turn is ending and takes no more. Rejects as *conflict* when it is not the one that runs. */
export function steer(slot: TurnSlot, expected: TurnId, wanted: Wanted, once?: Once): Promise<boolean> {
  const { threadId, log } = slot;
  return slot.mailbox.run(async () => {
    const running = slot.running();
    const active = log.accepted.turn?.id;
    if (!running || active === undefined) throw nothingToDo('steer', threadId);
    if (active !== expected) {
      const text = `expected active turn id \`${expected}\` but found \`${active}\``;
      throw new AppError('conflict', text, { threadId, activeTurnId: active });
    }
    if (running.kind) throw notSteerable(threadId, running.kind);
    const give = running.expectInput();
    if (!give) return false;
    let event: EventOf<'steered'> | undefined;
    try {
      const accepted = steeredEvent(active, wanted, await wanted.shown());
      await log.append([accepted], once);
      event = accepted;
    } finally {
      give(event);
    }
    return true;
  });
}
