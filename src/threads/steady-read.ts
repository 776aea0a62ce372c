// Reading a thread while it goes on: what is read is true at one place of its log.

import type { Seq, ThreadId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import type { StoredThread } from './access.ts';
import type { Place, Readable } from './thread-log.ts';

/** Reads of a thread that goes on; then it waits for the next one. */
const MAX_READS = 4;

/** Reads until nothing but streamed text has come since the place was asked for: what was read is true there. */
export async function readAt<P extends Place, T>(
  thread: Readable<P>,
  read: () => Promise<T>,
): Promise<{ readonly shown: T; readonly place: P }> {
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const place = thread.place();
    const shown = await read();
    if (place.isCurrent()) return { shown, place };
    await place.passed();
  }
  return thread.still(async () => {
    const place = thread.place();
    return { shown: await read(), place };
  });
}

/** The same for a thread that need not be loaded; `find` gives it as it is now. */
export async function readStored<T>(
  id: ThreadId,
  find: () => Promise<StoredThread>,
  read: () => Promise<T>,
): Promise<{ readonly shown: T; readonly meta: ThreadMeta; readonly headSeq: Seq }> {
  for (;;) {
    const { store, runtime } = await find();
    if (runtime) {
      const { shown, place } = await readAt(runtime, read);
      return { shown, meta: place.thread.meta, headSeq: place.thread.head };
    }
    const headSeq = (await store.head(id)) ?? 0;
    const { meta } = await find();
    const shown = await read();
    // It may have been loaded meanwhile, and written to; if it is loaded still, the next read waits with the writing.
    if ((await store.head(id)) === headSeq) return { shown, meta, headSeq };
  }
}
