// Input that waits on a thread: changed among the thread's other changes, begun one after the other when nothing runs.

import { isAppError } from '../base/errors.ts';
import type { Once } from '../history/store.ts';
import { newId, type TurnId } from '../model/ids.ts';
import { type Queue, type QueuedStart, taken } from './queueing.ts';
import type { TurnSlot } from './turn-slot.ts';

export class ThreadQueue {
  readonly #slot: TurnSlot;
  #isHeldBack = false;

  constructor(slot: TurnSlot) {
    this.#slot = slot;
  }

  /** Changes the queue as it is when this comes up among the thread's changes; no new queue: nothing but the key is stored. */
  change<R>(
    change: (queue: Queue) => { readonly queue: Queue | undefined; readonly reply: R },
    onceOf: (reply: R) => Once | undefined,
  ): Promise<R> {
    const { mailbox, log } = this.#slot;
    return mailbox.run(async () => {
      const { queue, reply } = change(log.accepted.meta.queue);
      const once = onceOf(reply);
      if (queue) await log.append([{ type: 'queueChanged', queue: [...queue] }], once);
      else if (once) await log.append([], once);
      return reply;
    });
  }

  /** Accepts waiting input as a turn, by default the first, and takes it off the queue: stored when this settles, not yet running. */
  start(wanted: QueuedStart, onceOf: (turnId: TurnId) => Once | undefined): Promise<TurnId> {
    const { mailbox, log, parts, threadId } = this.#slot;
    return mailbox.run(async () => {
      const { meta } = log.accepted;
      const { entry, rest } = taken(meta.queue, wanted.id, threadId);
      const isCapped = wanted.isCapped || entry.isCapped === true;
      if (isCapped) await parts.checkCapped(meta.settings);
      const { turnId = newId(), input, clientUserMessageId: clientId } = entry;
      const turn = { turnId, rootTurnId: undefined, input, clientId, outputSchema: undefined, isCapped };
      await this.#slot.accept(turn, [{ type: 'queueChanged', queue: [...rest] }], onceOf(turnId));
      return turnId;
    });
  }

  /** Begins what waits first, if the thread is idle and something waits. Never rejects. */
  async beginNext(): Promise<void> {
    const { log, parts, threadId } = this.#slot;
    const { meta, turn } = log.accepted;
    if (meta.queue.length === 0 || this.#isHeldBack || turn) return;
    try {
      const turnId = await this.start({ id: undefined, isCapped: false }, () => undefined);
      this.#slot.begin(turnId);
    } catch (error) {
      // Somebody else was faster: what waits goes on waiting.
      if (isAppError(error, 'conflict')) return;
      parts.log.warn({ err: error, threadId }, 'input that waits could not be begun');
    }
  }

  /** Lets nothing begin that waits until the returned function is called. */
  holdBack(): () => void {
    this.#isHeldBack = true;
    return () => {
      this.#isHeldBack = false;
    };
  }
}
