// What a client missed, as a page of the notifications it would have got.

import { staleCursor } from '../history/gaps.ts';
import type { ThreadStore } from '../history/store.ts';
import { lastSeq } from '../model/event.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import type { Item } from '../model/item.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { mergeDeltas, render } from './render.ts';

interface MissedEvent {
  readonly seq: number;
  readonly method: string;
  readonly params: unknown;
  readonly emittedAtMs: number;
}

const DEFAULT_LIMIT = 200;
const MAX_LIMIT = 1000;

/** Rejects as *conflict* of kind `stale_cursor` unless everything behind `after` can be told. */
export async function checkPlace(store: ThreadStore, id: ThreadId, after: Seq, headSeq: Seq): Promise<void> {
  const oldest = await store.oldest(id);
  if (after > headSeq || after < oldest) throw staleCursor(id, after, oldest, headSeq);
}

/** `limit` counts events of the log; `nextSeq` is where the next page begins, behind it. */
export async function eventsPage(
  store: ThreadStore,
  meta: ThreadMeta,
  page: { readonly after: number; readonly limit: number | undefined; readonly headSeq: number },
): Promise<{ events: MissedEvent[]; nextSeq: number }> {
  const { after, headSeq } = page;
  await checkPlace(store, meta.id, after, headSeq);
  const limit = Math.min(Math.max(page.limit ?? DEFAULT_LIMIT, 1), MAX_LIMIT);
  const stored = (await store.events(meta.id, after, limit)).filter((each) => lastSeq(each) <= headSeq);
  const events: MissedEvent[] = [];
  for (const each of mergeDeltas(stored)) {
    const message =
      each.event.type === 'turnCompleted' && each.event.lastMessageId
        ? await store.item(meta.id, each.event.lastMessageId)
        : undefined;
    const context = {
      threadId: meta.id,
      item: (): Item | undefined => message?.item,
      readState: () => meta.readState,
      // Without a place of their own, messages about the status are not on the page.
      status: () => ({ type: 'idle' as const }),
      asideFlags: () => [],
      requestIdOf: () => undefined,
    };
    for (const frame of render(each, context)) {
      const { method, params, emittedAtMs, seq } = JSON.parse(frame.text) as MissedEvent;
      if (seq !== undefined) events.push({ seq, method, params, emittedAtMs });
    }
  }
  const last = stored.at(-1);
  return { events, nextSeq: last ? lastSeq(last) : headSeq };
}
