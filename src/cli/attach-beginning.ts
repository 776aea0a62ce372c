// What a thread has told already: page by page, and where in it a turn begins.

import { isStaleCursor } from '../client/errors.ts';
import type { Heddle } from '../client/heddle.ts';
import { type News, newsOf } from '../client/news.ts';
import type { RequestResult } from '../client/typed.ts';

type Told = NonNullable<RequestResult<'thread/read'>['events']>;

/** How far from the head the first look begins, and the largest page, in events of the log. */
const FIRST_REACH = 200;
const MAX_PAGE = 1000;

/** The place before the turn's first event, or before the oldest that is kept. Looks from the head backwards, each time four times as far. */
export async function beginningOf(
  client: Heddle,
  threadId: string,
  { turnId, headSeq }: { readonly turnId: string; readonly headSeq: number },
): Promise<number> {
  let oldest = 0;
  for (let reach = FIRST_REACH; ; reach *= 4) {
    const from = Math.max(oldest, headSeq - reach);
    try {
      for await (const events of pagesBehind(client, threadId, from)) {
        const first = events.find(({ method, params }) => method === 'turn/started' && turnIn(params) === turnId);
        if (first) return first.seq - 1;
      }
      if (from === oldest) return oldest;
    } catch (error) {
      const kept = isStaleCursor(error) ? error.data.oldestSeq : undefined;
      if (typeof kept !== 'number' || kept <= oldest) throw error;
      oldest = kept;
    }
  }
}

const turnIn = (params: unknown): unknown => (params as { turn?: { id?: unknown } } | undefined)?.turn?.id;

/** Everything behind that event up to now, as it is told to those who listen. Rejects for a place that is not kept. */
export async function* eventsBehind(client: Heddle, threadId: string, after: number): AsyncGenerator<News> {
  for await (const events of pagesBehind(client, threadId, after))
    for (const event of events) {
      const news = newsOf({ kind: 'notification', ...event });
      if (news) yield news;
    }
}

async function* pagesBehind(client: Heddle, threadId: string, after: number): AsyncGenerator<Told> {
  for (let place = after; ; ) {
    const params = { threadId, afterEventSeq: place, limit: MAX_PAGE };
    const { events = [], nextSeq = place, headSeq } = await client.request('thread/read', params);
    yield events;
    if (nextSeq <= place || nextSeq >= headSeq) return;
    place = nextSeq;
  }
}
