// Who listens to which thread: from joining until the client leaves or its connection ends.

import type { Seq, ThreadId } from '../model/ids.ts';
import type { Session } from '../rpc/session.ts';
import type { Subscriber } from './cursor.ts';
import type { ThreadRegistry } from './registry.ts';
import type { ThreadRuntime } from './runtime.ts';
import type { Subscription } from './thread-log.ts';

export interface Listening {
  /** Joins behind `after`, by default behind what has been shown; rejects a place ahead of it as *conflict*. */
  join(session: Session, runtime: ThreadRuntime, after: Seq | undefined): Subscription;
  /** False when the session did not listen. */
  leave(session: Session, runtime: ThreadRuntime): boolean;
}

export function createListening(registry: ThreadRegistry, subscriberOf: (session: Session) => Subscriber): Listening {
  const leave = (session: Session, tenant: string, threadId: ThreadId): boolean => {
    const wasListening = registry.find(tenant, threadId)?.unsubscribe(subscriberOf(session)) ?? false;
    registry.touch(tenant, threadId);
    return wasListening;
  };
  return {
    join(session, runtime, after) {
      const { tenant } = session.principal;
      const { threadId } = runtime;
      const subscription = runtime.subscribe(subscriberOf(session), after);
      const name = nameOf(threadId);
      // A thread that was loaded anew meanwhile is found by its id when the connection ends.
      const end = async () => void leave(session, tenant, threadId);
      if (!session.owned(name)) session.own(name, { close: end });
      return subscription;
    },
    leave(session, { threadId }) {
      session.release(nameOf(threadId));
      return leave(session, session.principal.tenant, threadId);
    },
  };
}

/** Under which a session owns that it listens. */
const nameOf = (threadId: ThreadId): string => `subscription:${threadId}`;
