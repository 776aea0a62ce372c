// A word to clients that read whole histories.

import type { ThreadMeta } from '../model/thread.ts';
import type { Session } from '../rpc/session.ts';
import { deprecationNotice } from './notifications.ts';

/** Whoever reads a whole history at once is told of the pages. */
export function tellOfPages(session: Session, { historyMode, turnCount, ephemeral }: ThreadMeta): void {
  if (historyMode === 'paginated' && turnCount > 0 && !ephemeral) session.notify(deprecationNotice, TURNS_NOTICE);
}

const TURNS_NOTICE = {
  summary: 'Reading all turns of a thread at once is deprecated',
  details: 'Read them in pages: thread/turns/list and thread/items/list.',
};
