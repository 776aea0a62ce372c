// Commands that were left running when their turn went on without them: what is known of them after the server was killed.

import type { ThreadStore } from '../history/store.ts';
import { lastSeq, type ThreadEvent } from '../model/event.ts';
import type { ItemId, Seq } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';

/** Their items' ends, for a thread that is loaded anew: nobody knows how they ended, but what was shown of them is there. */
export async function terminalEndings(
  store: ThreadStore,
  { id, terminals }: ThreadMeta,
  head: Seq,
  atMs: number,
): Promise<ThreadEvent[]> {
  if (terminals.length === 0) return [];
  const found = await Promise.all(terminals.map(({ itemId }) => store.item(id, itemId)));
  const rows = found.filter((row) => row !== undefined);
  const texts = await outputOf(store, id, new Set(terminals.map(({ itemId }) => itemId)), {
    after: Math.min(...rows.map(({ seq }) => seq)),
    head,
  });
  return rows.flatMap(({ turnId, item }): ThreadEvent[] => {
    if (item.type !== 'commandExecution') return [];
    const aggregatedOutput = texts.get(item.id) ?? item.aggregatedOutput;
    const unknown = { status: 'failed', outcome: 'unknown', completedAtMs: atMs } as const;
    return [{ type: 'itemCompleted', turnId, item: { ...item, aggregatedOutput, ...unknown } }];
  });
}

const PAGE = 500;

/** What was streamed for these items, as far as it is kept. */
async function outputOf(
  store: ThreadStore,
  id: ThreadMeta['id'],
  items: ReadonlySet<ItemId>,
  { after, head }: { readonly after: Seq; readonly head: Seq },
): Promise<ReadonlyMap<ItemId, string>> {
  const pieces = new Map<ItemId, string[]>();
  for (let place = after; place < head; ) {
    const page = await store.events(id, place, PAGE);
    for (const { event } of page) {
      if (event.type !== 'delta' || !items.has(event.itemId)) continue;
      const known = pieces.get(event.itemId) ?? [];
      known.push(...event.parts);
      pieces.set(event.itemId, known);
    }
    const last = page.at(-1);
    if (!last) break;
    place = lastSeq(last);
  }
  return new Map([...pieces].map(([itemId, parts]) => [itemId, parts.join('')]));
}
