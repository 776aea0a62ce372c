// What a thread has told already: page by page, and where in it a turn begins.

import { isStaleCursor } from '../client/errors.ts';
import { type News, newsOf } from '../client/news.ts';
import type { RequestResult } from '../client/typed.ts';

type Page = RequestResult<'thread/read'>;
export type ToldEvent = NonNullable<Page['events']>[number];

/** Asks the server for a page. */
export type ReadPage = (place: { readonly afterEventSeq: number; readonly limit: number }) => Promise<Page>;

/** How far from the head the first look begins, and the largest page, in events of the log. */
const FIRST_REACH = 200;
const MAX_PAGE = 1000;

/** The place before the turn's first event, or before the oldest that is kept. Looks from the head backwards, each time four times as far. */
export async function beginningOf(
  read: ReadPage,
  { turnId, headSeq }: { readonly turnId: string; readonly headSeq: number },
): Promise<number> {
  let oldest = 0;
  for (let reach = FIRST_REACH; ; reach *= 4) {
    const from = Math.max(oldest, headSeq - reach);
    try {
      for await (const events of pagesBehind(read, from)) {
        const first = events.find(({ method, params }) => method === 'turn/started' && turnIn(params) === turnId);
        if (first) return first.seq - 1;
      }
      if (from === oldest) return oldest;
    } catch (error) {
      oldest = oldestBehind(oldest, error);
    }
  }
}

const turnIn = (params: unknown): unknown => (params as { turn?: { id?: unknown } } | undefined)?.turn?.id;

/** Everything behind that event up to now, as it is told to those who listen. Rejects for a place that is not kept. */
export async function* newsBehind(read: ReadPage, after: number): AsyncGenerator<News> {
  for await (const events of pagesBehind(read, after))
    for (const event of events) {
      const news = newsOf({ kind: 'notification', ...event });
      if (news) yield news;
    }
}

/** Everything that is kept, from the oldest on. */
export async function* everyEvent(read: ReadPage): AsyncGenerator<ToldEvent> {
  let after = 0;
  await read({ afterEventSeq: 0, limit: 1 }).catch((error: unknown) => {
    after = oldestBehind(0, error);
  });
  for await (const events of pagesBehind(read, after)) yield* events;
}

async function* pagesBehind(read: ReadPage, after: number): AsyncGenerator<readonly ToldEvent[]> {
  for (let place = after; ; ) {
    const { events = [], nextSeq = place, headSeq } = await read({ afterEventSeq: place, limit: MAX_PAGE });
    yield events;
    if (nextSeq <= place || nextSeq >= headSeq) return;
    place = nextSeq;
  }
}

/** Where what is kept begins, when the error says that it begins later than thought. Throws any other error. */
function oldestBehind(thought: number, error: unknown): number {
  const kept = isStaleCursor(error) ? error.data.oldestSeq : undefined;
  if (typeof kept !== 'number' || kept <= thought) throw error;
  return kept;
}
