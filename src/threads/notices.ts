// What concerns the list of threads, for all sessions that may see it: a set of dirty threads a session, not a queue of news.

import type { ThreadId } from '../model/ids.ts';
import type { ThreadMeta, ThreadSection, ThreadStatus } from '../model/thread.ts';
import type { Params } from '../rpc/declare.ts';
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
  'section',
  'archived',
  'unarchived',
  'deleted',
  'closed',
] as const;
export type NoticeKind = (typeof KINDS)[number];

/** An attachment that came or went; unlike the others it is told with its own words. */
export interface AttachmentNotice {
  readonly attachment: Params<typeof tell.threadAttachmentUpdated>;
}
export type Notice = NoticeKind | AttachmentNotice;

/** Attachments that a session which cannot take news now is told of later; beyond that, the last ones. */
const MAX_WAITING_ATTACHMENTS = 100;

interface Waiting {
  readonly kinds: Set<NoticeKind>;
  /** The last news of each, by type and key. */
  readonly attachments: Map<string, AttachmentNotice>;
  /** Asked at the moment of telling. */
  newest: Newest;
}

/** What is known of a thread at the moment of telling; undefined: it is gone. */
export type Newest = (tenant: string, id: ThreadId) => NewestThread | undefined;

export interface NewestThread {
  readonly meta: ThreadMeta;
  readonly status: ThreadStatus;
  /** The section it is in, if there is one. */
  readonly section?: ThreadSection | null;
}

export class Notices {
  readonly #sessions: Sessions;
  readonly #dirty = new Map<Session, Map<ThreadId, Waiting>>();

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  /** Tells everyone but those in `except`, who learn it from the log. Whoever cannot take it now gets the newest state later. */
  tell(tenant: string, id: ThreadId, kinds: readonly Notice[], newest: Newest, except?: ReadonlySet<string>): void {
    for (const session of this.#sessions) {
      if (session.principal.tenant !== tenant || !session.principal.permissions.has('thread:read')) continue;
      if (except?.has(session.id)) continue;
      const waiting = this.#dirty.get(session);
      if (waiting) {
        mark(waiting, id, kinds, newest);
      } else if (session.peer.outbox.isFull()) {
        const dirty = new Map<ThreadId, Waiting>();
        mark(dirty, id, kinds, newest);
        this.#dirty.set(session, dirty);
        void this.#later(session, tenant);
      } else {
        for (const kind of kinds) send(session, id, kind, newest(tenant, id));
      }
    }
  }

  async #later(session: Session, tenant: string): Promise<void> {
    await session.peer.outbox.hasRoom();
    const dirty = this.#dirty.get(session);
    this.#dirty.delete(session);
    if (!dirty || session.signal.aborted) return;
    for (const [id, { kinds, attachments, newest }] of dirty) {
      for (const kind of KINDS) if (kinds.has(kind)) send(session, id, kind, newest(tenant, id));
      for (const notice of attachments.values()) send(session, id, notice, undefined);
    }
  }
}

function mark(dirty: Map<ThreadId, Waiting>, id: ThreadId, notices: readonly Notice[], newest: Newest): void {
  const known: Waiting = dirty.get(id) ?? { kinds: new Set(), attachments: new Map(), newest };
  known.newest = newest;
  dirty.set(id, known);
  for (const notice of notices) {
    if (typeof notice === 'string') {
      known.kinds.add(notice);
      continue;
    }
    const { attachmentType, identityKey } = notice.attachment;
    const name = JSON.stringify([attachmentType, identityKey]);
    known.attachments.delete(name);
    known.attachments.set(name, notice);
    const [oldest] = known.attachments.keys();
    if (known.attachments.size > MAX_WAITING_ATTACHMENTS && oldest !== undefined) known.attachments.delete(oldest);
  }
}

function send(session: Session, threadId: ThreadId, kind: Notice, thread: ReturnType<Newest>): void {
  if (typeof kind !== 'string') {
    session.notify(tell.threadAttachmentUpdated, kind.attachment);
    return;
  }
  if (kind === 'deleted' || kind === 'closed') {
    session.notify(kind === 'deleted' ? tell.threadDeleted : tell.threadClosed, { threadId });
    return;
  }
  if (!thread) return;
  const { meta, status, section = null } = thread;
  switch (kind) {
    case 'started':
      session.notify(tell.threadStarted, { thread: threadView(meta, status, section) });
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
    case 'section':
      session.notify(tell.threadSectionChanged, { threadId, sectionId: meta.section?.id ?? null });
      break;
    case 'archived':
      session.notify(tell.threadArchived, { threadId });
      break;
    case 'unarchived':
      session.notify(tell.threadUnarchived, { threadId });
      break;
  }
}
