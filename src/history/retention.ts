// What the operator does not want to keep: archived threads that are older, or more, than that.

import type { ThreadId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import type { EventRetention } from './event-retention.ts';
import { below, beyond, type KeyRange } from './keys.ts';
import type { Source } from './reader.ts';
import { breathe } from './rows.ts';
import type { ThreadPlace, ThreadStore } from './store.ts';

export interface Retention extends EventRetention {
  /** Archived threads whose last change is longer ago are deleted. Null: age deletes nothing. */
  readonly archivedMs: number | null;
  /** The archived threads changed last are kept up to this many characters of records. Null: size deletes nothing. */
  readonly archivedCharacters: number | null;
}

const STEP = 1000;
const STEP_CHARACTERS = 1024 * 1024;
const PAGE = 100;

export interface RetentionWork extends Source {
  readonly store: ThreadStore;
  readonly tenant: string;
  readonly now: () => number;
  /** Such threads are left for the next time. */
  readonly isInUse: (id: ThreadId) => boolean;
  readonly signal: AbortSignal;
}

/** Deletes what is beyond the limits, the longest unchanged first; gives how many threads went. Ends early on abort. */
export async function applyRetention(work: RetentionWork, retention: Retention): Promise<number> {
  const { archivedMs, archivedCharacters } = retention;
  if (archivedMs === null && archivedCharacters === null) return 0;
  const { store, log, now, isInUse, signal } = work;
  const oldest = archivedMs === null ? Number.NEGATIVE_INFINITY : now() - archivedMs;
  const unwanted: ThreadId[] = [];
  let kept = 0;
  for await (const { id, updatedAtMs } of archivedThreads(store)) {
    if (signal.aborted) return 0;
    if (archivedCharacters !== null) kept += await sizeOf(work, id, archivedCharacters + 1 - kept);
    const isBeyond = updatedAtMs < oldest || (archivedCharacters !== null && kept > archivedCharacters);
    if (isBeyond && !isInUse(id)) unwanted.push(id);
  }
  let removed = 0;
  for (const id of unwanted.reverse()) {
    if (signal.aborted) break;
    // It may have been taken out of the archive, or be gone, since.
    if ((await store.meta(id))?.archived !== true || isInUse(id)) continue;
    await store.remove(id);
    removed += 1;
    log.info({ threadId: id }, 'an archived thread was deleted as the retention says');
  }
  return removed;
}

/** Changed last first. */
async function* archivedThreads(store: ThreadStore): AsyncGenerator<ThreadMeta> {
  let from: ThreadPlace | undefined;
  for (;;) {
    const page = await store.threads({
      archived: true,
      sortKey: 'updatedAt',
      direction: 'desc',
      limit: PAGE,
      ...(from && { from: { key: from, inclusive: false } }),
    });
    yield* page.rows;
    const last = page.rows.at(-1);
    if (!page.hasMore) return;
    from = page.next ?? (last && { ms: last.updatedAtMs, id: last.id });
  }
}

/** Characters of a thread's records; counts no further than `most`. */
async function sizeOf({ rows, keys }: RetentionWork, id: ThreadId, most: number): Promise<number> {
  let size = 0;
  let range: KeyRange = below(keys.thread(id));
  while (size < most) {
    const step = rows.scan({ ...range, limit: STEP, characters: STEP_CHARACTERS });
    const last = step.at(-1);
    if (last === undefined) break;
    for (const { text } of step) size += text.length;
    range = beyond(range, last.key, false);
    await breathe();
  }
  return size;
}
