// How input joins the queue of a thread, from whatever method it comes.

import type { Principal } from '../auth/principal.ts';
import { AppError } from '../base/errors.ts';
import type { QueuedSubmission } from '../model/thread.ts';
import type { Context } from '../rpc/router.ts';
import type { ThreadRuntime } from './runtime.ts';

/** Input that may wait on one thread. */
const MAX_QUEUED = 100;

/** Stores input behind what waits already; begins it after the reply if the thread is idle. Rejects as *conflict* when it is full. */
export async function enqueue(
  runtime: ThreadRuntime,
  added: QueuedSubmission,
  context: Context,
  reply: unknown,
): Promise<void> {
  const { queue } = runtime.meta;
  if (queue.length >= MAX_QUEUED) {
    throw new AppError('conflict', `no more than ${MAX_QUEUED} inputs may wait`, { threadId: runtime.threadId });
  }
  const release = runtime.hold();
  context.afterReply(() => {
    release();
    void runtime.beginNext();
  });
  await runtime.change([{ type: 'queueChanged', queue: [...queue, added] }], context.once(reply));
}

/** Whoever adds, changes or starts input under the ceiling keeps its turn there. */
export function cappedBy(principal: Principal): { isCapped?: true } {
  return principal.isLocal ? {} : { isCapped: true };
}
