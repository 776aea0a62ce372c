// Who listens to which thread: from joining until the client leaves or its connection ends.

import { isAppError } from '../base/errors.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import type { Context } from '../rpc/router.ts';
import type { Session } from '../rpc/session.ts';
import type { Subscriber } from './cursor.ts';
import type { ThreadRegistry } from './registry.ts';
import type { ThreadRuntime } from './runtime.ts';
import type { Subscription } from './thread-log.ts';

export interface Listening {
  /** Joins behind `after`, by default behind what has been shown; rejects a place ahead of it as *conflict*. */
  join(session: Session, runtime: ThreadRuntime, after: Seq | undefined): Subscription;
  /**
   * Reads what shows the thread as it is, and joins right behind it: nothing is missed, and nothing is both in it and told,
   * unless the thread changes each time that it is read. With `after` it joins there, whatever has been read.
   */
  joinAfter<T>(
    session: Session,
    runtime: ThreadRuntime,
    after: Seq | undefined,
    read: () => Promise<T>,
  ): Promise<{ readonly shown: T; readonly subscription: Subscription }>;
  /**
   * For a repeated request that began the thread: joins after the reply, unless the session listens already or the thread is
   * archived by now. Undefined: the thread is gone.
   */
  rejoin(context: Context, id: ThreadId): Promise<ThreadRuntime | undefined>;
  /** False when the session did not listen. */
  leave(session: Session, runtime: ThreadRuntime): boolean;
}

const MAX_READS = 4;

export function createListening(registry: ThreadRegistry, subscriberOf: (session: Session) => Subscriber): Listening {
  const leave = (session: Session, tenant: string, threadId: ThreadId): boolean => {
    const wasListening = registry.find(tenant, threadId)?.unsubscribe(subscriberOf(session)) ?? false;
    registry.touch(tenant, threadId);
    return wasListening;
  };
  const join: Listening['join'] = (session, runtime, after) => {
    const { tenant } = session.principal;
    const { threadId } = runtime;
    const subscription = runtime.subscribe(subscriberOf(session), after);
    const name = nameOf(threadId);
    // A thread that was loaded anew meanwhile is found by its id when the connection ends.
    const end = async () => void leave(session, tenant, threadId);
    if (!session.owned(name)) session.own(name, { close: end });
    return subscription;
  };
  return {
    join,
    async joinAfter(session, runtime, after, read) {
      for (let reads = 1; ; reads += 1) {
        const subscription = join(session, runtime, after);
        const shown = await read();
        if (after !== undefined || subscription.isCurrent() || reads === MAX_READS) return { shown, subscription };
      }
    },
    async rejoin({ session, afterReply }, id) {
      try {
        const runtime = await registry.load(session.principal.tenant, id);
        const isListening = runtime.subscribers.includes(subscriberOf(session));
        if (runtime.meta.archived || isListening) return runtime;
        const subscription = join(session, runtime, undefined);
        afterReply(() => subscription.start());
        return runtime;
      } catch (error) {
        if (isAppError(error, 'notFound')) return undefined;
        throw error;
      }
    },
    leave(session, { threadId }) {
      session.release(nameOf(threadId));
      return leave(session, session.principal.tenant, threadId);
    },
  };
}

/** Under which a session owns that it listens. */
const nameOf = (threadId: ThreadId): string => `subscription:${threadId}`;
