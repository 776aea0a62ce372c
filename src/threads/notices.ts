// What concerns the list of threads, for all sessions that may see it: a set of dirty threads a session, not a queue of news.

import type { ThreadId } from '../model/ids.ts';
import type { ThreadMeta, ThreadStatus } from '../model/thread.ts';
import type { Session, Sessions } from '../rpc/session.ts';
import * as tell from './notifications.ts';
import { threadView } from './view.ts';

/** In the order in which they are told when several are due. */
const KINDS = [
  'started',
  'status',
  'name',
  'readState',
  'goal',
  'archived',
  'unarchived',
  'deleted',
  'closed',
] as const;
export type NoticeKind = (typeof KINDS)[number];

/** What is known of a thread at the moment of telling; undefined: it is gone. */
export type Newest = (
  tenant: string,
  id: ThreadId,
) => { readonly meta: ThreadMeta; readonly status: ThreadStatus } | undefined;

export class Notices {
  readonly #sessions: Sessions;
  readonly #dirty = new Map<Session, Map<ThreadId, Set<NoticeKind>>>();

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  /** Tells everyone but those in `except`, who learn it from the log. Whoever cannot take it now gets the newest state later. */
  tell(tenant: string, id: ThreadId, kinds: readonly NoticeKind[], newest: Newest, except?: ReadonlySet<string>): void {
    for (const session of this.#sessions) {
      if (session.principal.tenant !== tenant || !session.principal.permissions.has('thread:read')) continue;
      if (except?.has(session.id)) continue;
      const waiting = this.#dirty.get(session);
      if (waiting) {
        mark(waiting, id, kinds);
      } else if (session.peer.outbox.isFull()) {
        const dirty = new Map<ThreadId, Set<NoticeKind>>();
        mark(dirty, id, kinds);
        this.#dirty.set(session, dirty);
        void this.#later(session, tenant, newest);
      } else {
        for (const kind of kinds) send(session, id, kind, newest(tenant, id));
      }
    }
  }

  async #later(session: Session, tenant: string, newest: Newest): Promise<void> {
    await session.peer.outbox.hasRoom();
    const dirty = this.#dirty.get(session);
    this.#dirty.delete(session);
    if (!dirty || session.signal.aborted) return;
    for (const [id, kinds] of dirty) {
      for (const kind of KINDS) if (kinds.has(kind)) send(session, id, kind, newest(tenant, id));
    }
  }
}

function mark(dirty: Map<ThreadId, Set<NoticeKind>>, id: ThreadId, kinds: readonly NoticeKind[]): void {
  const known = dirty.get(id) ?? new Set<NoticeKind>();
  for (const kind of kinds) known.add(kind);
  dirty.set(id, known);
}

function send(session: Session, threadId: ThreadId, kind: NoticeKind, thread: ReturnType<Newest>): void {
  if (kind === 'deleted' || kind === 'closed') {
    session.notify(kind === 'deleted' ? tell.threadDeleted : tell.threadClosed, { threadId });
    return;
  }
  if (!thread) return;
  const { meta, status } = thread;
  switch (kind) {
    case 'started':
      session.notify(tell.threadStarted, { thread: threadView(meta, status) });
      break;
    case 'status':
      session.notify(tell.threadStatusChanged, { threadId, status });
      break;
    case 'name':
      session.notify(tell.threadNameUpdated, { threadId, ...(meta.name === null ? {} : { threadName: meta.name }) });
      break;
    case 'readState':
      session.notify(tell.threadReadStateChanged, { threadId, readState: meta.readState });
      break;
    case 'goal':
      if (meta.goal) session.notify(tell.threadGoalUpdated, { threadId, turnId: null, goal: meta.goal });
      else session.notify(tell.threadGoalCleared, { threadId });
      break;
    case 'archived':
      session.notify(tell.threadArchived, { threadId });
      break;
    case 'unarchived':
      session.notify(tell.threadUnarchived, { threadId });
      break;
  }
}
