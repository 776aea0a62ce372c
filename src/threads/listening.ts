// Who listens to which thread: from joining until the client leaves or its connection ends.

import { isAppError } from '../base/errors.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import type { Context } from '../rpc/router.ts';
import type { Session } from '../rpc/session.ts';
import type { Subscriber } from './cursor.ts';
import type { ThreadRegistry } from './registry.ts';
import type { ThreadRuntime } from './runtime.ts';
import { readAt } from './steady-read.ts';
import type { Place, Subscription } from './thread-log.ts';

export interface Listening {
  /** Joins behind `after`, by default behind what is on disk. */
  join(session: Session, runtime: ThreadRuntime, after: Seq | undefined): Subscription;
  /**
   * Reads what shows the thread as it is, and joins right behind it: nothing is missed, and nothing is both in it and told.
   * With `after` it joins there, whatever has been read.
   */
  joinAfter<T>(
    session: Session,
    runtime: ThreadRuntime,
    after: Seq | undefined,
    read: () => Promise<T>,
  ): Promise<{ readonly shown: T; readonly subscription: Subscription }>;
  /**
   * For a repeated request that began the thread: joins after the reply, unless the session listens already or the thread is
   * archived by now, and reads as `joinAfter` does. Undefined: the thread is gone.
   */
  rejoin<T>(
    context: Context,
    id: ThreadId,
    read: (runtime: ThreadRuntime) => Promise<T>,
    after?: Seq,
  ): Promise<{ readonly runtime: ThreadRuntime; readonly shown: T; readonly place: Place } | undefined>;
  /** False when the session did not listen. */
  leave(session: Session, runtime: ThreadRuntime): boolean;
}

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
  const joinAfter: Listening['joinAfter'] = async (session, runtime, after, read) => {
    const { shown, place } = await readAt(
      { place: () => join(session, runtime, after), still: (work) => runtime.still(work) },
      read,
    );
    return { shown, subscription: place };
  };
  return {
    join,
    joinAfter,
    async rejoin({ session, afterReply }, id, read, after) {
      try {
        const runtime = await registry.load(session.principal.tenant, id);
        const isListening = runtime.subscribers.includes(subscriberOf(session));
        const readIt = () => read(runtime);
        if (runtime.meta.archived || isListening) return { runtime, ...(await readAt(runtime, readIt)) };
        // What an old answer does not show is told now, if it is still there.
        const store = after === undefined ? undefined : await registry.storeOf(session.principal.tenant, id);
        const isKept = after !== undefined && store !== undefined && after >= (await store.oldest(id));
        const { shown, subscription } = await joinAfter(session, runtime, isKept ? after : undefined, readIt);
        afterReply(() => subscription.start());
        return { runtime, shown, place: subscription };
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
