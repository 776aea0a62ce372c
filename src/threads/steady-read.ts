// Reading a thread while it goes on: what is read is true at one place of its log.

import type { Seq, ThreadId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import type { StoredThread } from './access.ts';
import type { Place } from './thread-log.ts';

const MAX_READS = 4;

/**
 * Reads until nothing but streamed text has come since `place` was asked, or often enough. What lies behind the place is then
 * perhaps in what was read, but nothing before it is missing there.
 */
export async function readAt<P extends Place, T>(
  place: () => P,
  read: () => Promise<T>,
): Promise<{ readonly shown: T; readonly place: P }> {
  for (let reads = 1; ; reads += 1) {
    const at = place();
    const shown = await read();
    if (at.isCurrent() || reads === MAX_READS) return { shown, place: at };
    await at.passed();
  }
}

/** The same for a thread that need not be loaded; `find` gives it as it is now. */
export async function readStored<T>(
  id: ThreadId,
  find: () => Promise<StoredThread>,
  read: () => Promise<T>,
): Promise<{ readonly shown: T; readonly meta: ThreadMeta; readonly headSeq: Seq }> {
  for (let reads = 1; ; reads += 1) {
    const { store, runtime } = await find();
    if (runtime) {
      const { shown, place } = await readAt(() => runtime.place(), read);
      return { shown, meta: place.thread.meta, headSeq: place.thread.head };
    }
    const headSeq = (await store.head(id)) ?? 0;
    const { meta } = await find();
    const shown = await read();
    // It may have been loaded meanwhile, and written to.
    if ((await store.head(id)) === headSeq || reads === MAX_READS) return { shown, meta, headSeq };
  }
}
