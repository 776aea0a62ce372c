// The row of a thread that begins now, before anything has happened in it.

import type { ThreadId } from '../model/ids.ts';
import type { ThreadMeta, ThreadSettings } from '../model/thread.ts';
import { NO_USAGE } from '../model/turn.ts';
import type { Session } from '../rpc/session.ts';

export interface Beginning {
  readonly id: ThreadId;
  readonly atMs: number;
  readonly settings: ThreadSettings;
  /** Of the client that asks. */
  readonly session: Session;
  /** Our own. */
  readonly version: string;
}

export function newMeta({ id, atMs, settings, session, version }: Beginning): ThreadMeta {
  return {
    id,
    createdAtMs: atMs,
    updatedAtMs: atMs,
    recencyAtMs: atMs,
    archived: false,
    name: null,
    preview: '',
    title: null,
    metadata: null,
    serviceName: null,
    sessionId: id,
    forkedFromId: null,
    ephemeral: false,
    historyMode: 'paginated',
    originator: session.client.name,
    threadSource: null,
    createdByVersion: version,
    gitInfo: null,
    settings,
    turnCount: 0,
    usage: NO_USAGE,
    readState: { firstUnread: null, revision: `initial:${id}` },
    goal: null,
    queue: [],
    section: null,
    terminals: [],
    asides: [],
    failed: false,
  };
}
