// Where a text was said in one thread.

import type { Seq, ThreadId, TurnId } from '../model/ids.ts';
import { ENDLESS } from './keys.ts';
import { matchesIn, patternOf, snippetOf } from './matches.ts';
import { messagesOf } from './messages.ts';
import { readTurn } from './pages.ts';
import type { Source } from './reader.ts';
import type { Occurrence, OccurrencePage, OccurrenceQuery } from './store.ts';

/** Messages looked at by one page. */
const LOOKED_AT = 5000;

export async function findOccurrences(
  source: Source,
  id: ThreadId,
  { term, limit, after }: OccurrenceQuery,
): Promise<OccurrencePage> {
  const pattern = patternOf(term);
  const rows: Occurrence[] = [];
  const turns = new Map<TurnId, Seq>();
  const turnSeq = async (turnId: TurnId): Promise<Seq> => {
    const known = turns.get(turnId) ?? (await readTurn(source, id, turnId))?.seq ?? 0;
    turns.set(turnId, known);
    return known;
  };
  let looked = 0;
  for await (const { seq, turnId, itemId, text } of messagesOf(source, id, after?.seq ?? 0, ENDLESS)) {
    let index = -1;
    for (const match of matchesIn(text, pattern)) {
      index += 1;
      if (after !== undefined && seq === after.seq && index <= after.index) continue;
      if (rows.length === limit) return { rows, hasMore: true };
      rows.push({ seq, index, turnId, turnSeq: await turnSeq(turnId), itemId, snippet: snippetOf(text, match) });
    }
    looked += 1;
    if (looked >= LOOKED_AT) return { rows, hasMore: true, next: { seq, index: Math.max(index, 0) } };
  }
  return { rows, hasMore: false };
}
