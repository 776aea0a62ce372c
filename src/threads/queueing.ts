// How input joins and leaves the queue of a thread, from whatever method it comes.

import type { Principal } from '../auth/principal.ts';
import { AppError } from '../base/errors.ts';
import type { ThreadId } from '../model/ids.ts';
import type { QueuedSubmission } from '../model/thread.ts';
import type { Context } from '../rpc/router.ts';
import { isArchived } from './conflicts.ts';
import { checkQueueSize } from './queue-pages.ts';
import type { ThreadRuntime } from './runtime.ts';

export type Queue = readonly QueuedSubmission[];

export interface QueuedStart {
  /** Undefined: what waits first. */
  readonly id: string | undefined;
  /** Started by somebody whom the operator's ceiling holds. */
  readonly isCapped: boolean;
}

/** Input that may wait on one thread. */
const MAX_QUEUED = 100;

/** Stores input behind what waits already; begins it after the reply if the thread is idle. Rejects as *conflict* when it is full. */
export async function enqueue<R>(
  runtime: ThreadRuntime,
  added: QueuedSubmission,
  context: Context,
  reply: R,
): Promise<R> {
  const { threadId } = runtime;
  const release = runtime.hold();
  context.afterReply(() => {
    release();
    void runtime.queue.beginNext();
  });
  return runtime.queue.change((queue) => {
    if (runtime.meta.archived) throw isArchived(threadId);
    if (queue.length >= MAX_QUEUED)
      throw new AppError('conflict', `no more than ${MAX_QUEUED} inputs may wait`, { threadId });
    const after = [...queue, added];
    checkQueueSize(after, threadId);
    return { queue: after, reply };
  }, context.once);
}

/** The entry of this id, or the first one, and what waits then. */
export function taken(
  queue: Queue,
  id: string | undefined,
  threadId: ThreadId,
): { entry: QueuedSubmission; rest: Queue } {
  const entry = id === undefined ? queue[0] : entryOf(queue, id);
  if (!entry) throw new AppError('conflict', 'no queued submission to start', { threadId });
  return { entry, rest: queue.filter((each) => each !== entry) };
}

export function entryOf(queue: Queue, id: string): QueuedSubmission {
  const known = queue.find((each) => each.id === id);
  if (!known) throw new AppError('notFound', `queued submission not found: ${id}`);
  return known;
}

/** Whoever adds, changes or starts input under the ceiling keeps its turn there. */
export function cappedBy(principal: Principal): { isCapped?: true } {
  return principal.isLocal ? {} : { isCapped: true };
}
