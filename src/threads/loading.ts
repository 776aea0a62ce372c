// A thread from its store: the catalogue's row, and the state of a turn that was open, folded from the log.

import type { EventToStore, ThreadStore } from '../history/store.ts';
import { lastSeq, type ThreadEvent } from '../model/event.ts';
import type { ItemId, Seq, ThreadId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { applyEvent, type LiveThread, UNKNOWN_VIEW } from './state.ts';

export interface LoadedThread {
  readonly thread: LiveThread;
  /** Text that was streamed for items of the open turn. */
  readonly texts: ReadonlyMap<ItemId, string>;
}

const PAGE = 500;

/** A thread without an open turn. */
export const idleThread = (meta: ThreadMeta, head: Seq): LiveThread => ({
  ...{ meta, head, turn: null },
  asides: new Map(),
  view: UNKNOWN_VIEW,
});

export async function loadThread(store: ThreadStore, id: ThreadId): Promise<LoadedThread | undefined> {
  const [meta, head] = await Promise.all([store.meta(id), store.head(id)]);
  if (!meta || head === undefined) return undefined;
  const [last] = (await store.turns(id, { direction: 'desc', limit: 1 })).rows;
  const isFull = last?.error?.codexErrorInfo === 'contextWindowExceeded';
  const idle = { ...idleThread(meta, head), view: { ...UNKNOWN_VIEW, isFull } };
  if (last?.status !== 'inProgress') return { thread: idle, texts: new Map() };
  return foldOpenTurn(store, { ...idle, head: last.seq - 1 });
}

async function foldOpenTurn(store: ThreadStore, before: LiveThread): Promise<LoadedThread> {
  const pieces = new Map<ItemId, string[]>();
  let thread = before;
  for (;;) {
    const page = await store.events(before.meta.id, thread.head, PAGE);
    if (page.length === 0) break;
    for (const stored of page) {
      thread = applyEvent(thread, stored, lastSeq(stored));
      if (stored.event.type !== 'delta') continue;
      const { itemId, parts } = stored.event;
      const known = pieces.get(itemId);
      if (known) known.push(...parts);
      else pieces.set(itemId, [...parts]);
    }
  }
  const texts = new Map([...pieces].map(([itemId, parts]) => [itemId, parts.join('')]));
  // The row holds everything already; folding has only found the open turn.
  return { thread: { ...thread, meta: before.meta, asides: before.asides }, texts };
}

/** What a copy of a thread begins with: the events of its turns up to `at`, without one that is open there. */
export async function eventsOfTurns(store: ThreadStore, id: ThreadId, at: Seq): Promise<EventToStore[]> {
  const open = (await store.turns(id, { direction: 'desc', limit: 1 })).rows.find((row) => row.status === 'inProgress');
  const end = open && open.seq <= at ? open.seq - 1 : at;
  const events: EventToStore[] = [];
  for await (const stored of store.kept(id, end)) if (isOfTurns(stored.event)) events.push(stored);
  return events;
}

/** Name, settings, goal and the like are the copy's own. */
function isOfTurns({ type }: ThreadEvent): boolean {
  return (
    type === 'turnStarted' ||
    type === 'itemStarted' ||
    type === 'itemCompleted' ||
    type === 'terminalLeft' ||
    type === 'contextAdded' ||
    type === 'usageReported' ||
    type === 'errorReported' ||
    type === 'turnsReverted' ||
    type === 'turnCompleted'
  );
}
