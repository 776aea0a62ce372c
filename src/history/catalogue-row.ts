// A thread's row in the catalogue: what one of an older version lacks, and whether it is listed.

import type { ThreadMeta } from '../model/thread.ts';

/** A thread is listed once somebody has put something into it, or told it from others: one that is as it was begun is not. */
export const isListed = (meta: ThreadMeta): boolean =>
  meta.turnCount > 0 ||
  meta.preview !== '' ||
  meta.name !== null ||
  (meta.title ?? '') !== '' ||
  Object.keys(meta.metadata ?? {}).length > 0 ||
  meta.queue.length > 0 ||
  meta.goal !== null ||
  meta.section !== null ||
  meta.hasAttachments === true;

const LATER_MEMBERS = { goal: null, queue: [], section: null, terminals: [], asides: [] } satisfies Partial<ThreadMeta>;
const LATER_NAMES = Object.keys(LATER_MEMBERS);

/** A row as an older version of this program may have written it, with the members that came later. */
export const wholeMeta = (stored: ThreadMeta): ThreadMeta =>
  // To copy an object of so many members is a third of what a page of the list costs.
  LATER_NAMES.every((name) => name in stored) ? stored : { ...LATER_MEMBERS, ...stored };
