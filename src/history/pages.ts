// Pages of turns and items, forwards and backwards, from the tables of a thread.

import type { ItemId, Seq, ThreadId, TurnId } from '../model/ids.ts';
import { beyond, ENDLESS, type Key, type KeyRange } from './keys.ts';
import { PAGE_CHARACTERS, revive, type Source, STEP, withinBudget } from './reader.ts';
import { type Decoded, decode } from './records.ts';
import { breathe, type Row, undamaged } from './rows.ts';
import type { ItemQuery, ItemRow, Page, TurnQuery, TurnRow } from './store.ts';
import type { TurnSpan } from './tables.ts';

export async function readTurns(source: Source, id: ThreadId, query: TurnQuery): Promise<Page<TurnRow>> {
  const { keys } = source;
  const range = between((seq) => keys.turn(id, seq), query, 0, ENDLESS);
  return page<TurnRow>(source, id, range, query, () => true);
}

export async function readTurn(source: Source, id: ThreadId, turnId: TurnId): Promise<TurnRow | undefined> {
  return one<TurnRow>(source, id, source.keys.turnSeq(id, turnId), (seq) => source.keys.turn(id, seq));
}

export async function readItems(source: Source, id: ThreadId, query: ItemQuery): Promise<Page<ItemRow>> {
  const { keys } = source;
  let [first, end] = [0, ENDLESS];
  if (query.turnId !== undefined) {
    const turn = (await readTurn(source, id, query.turnId)) as TurnSpan | undefined;
    if (turn === undefined) return { rows: [], hasMore: false };
    [first, end] = [turn.seq, turn.endSeq === undefined ? ENDLESS : turn.endSeq + 1];
  }
  const range = between((seq) => keys.item(id, seq), query, first, end);
  return page<ItemRow>(source, id, range, query, ({ turnId }) => query.turnId === undefined || turnId === query.turnId);
}

export async function readItem(source: Source, id: ThreadId, itemId: ItemId): Promise<ItemRow | undefined> {
  return one<ItemRow>(source, id, source.keys.itemSeq(id, itemId), (seq) => source.keys.item(id, seq));
}

/** The part of the numbers from `first` to before `end` in which the query's page begins. */
function between(key: (seq: Seq) => Key, { direction, from }: TurnQuery, first: Seq, end: Seq): KeyRange {
  const bound = from === undefined ? undefined : from.inclusive === (direction === 'asc') ? from.key : from.key + 1;
  if (bound === undefined) return { from: key(first), to: key(end) };
  if (direction === 'asc') return { from: key(Math.max(first, bound)), to: key(end) };
  return { from: key(first), to: key(Math.min(end, bound)) };
}

async function page<T extends object>(
  source: Source,
  id: ThreadId,
  whole: KeyRange,
  { direction, limit }: TurnQuery,
  fits: (row: T) => boolean,
): Promise<Page<T>> {
  const reverse = direction === 'desc';
  const found: Decoded<T>[] = [];
  let characters = 0;
  let range = whole;
  for (;;) {
    const size = Math.min(STEP, limit + 1 - found.length);
    const step = source.rows.scan({ ...range, reverse, limit: size, characters: PAGE_CHARACTERS });
    for (const { text } of step.map(undamaged)) {
      const row = decode<T>(text);
      if (!fits(row.value)) continue;
      if (found.length === limit || characters >= PAGE_CHARACTERS) return finish(source, id, found, true);
      found.push(row);
      characters += text.length;
    }
    const last = step.at(-1);
    if (last === undefined || isWhole(step, size)) return finish(source, id, found, false);
    range = beyond(range, last.key, reverse);
    await breathe();
  }
}

/** It ended at the end of the range, and not because it was long enough. */
const isWhole = (step: readonly Row[], limit: number): boolean =>
  step.length < limit && step.reduce((sum, { text }) => sum + text.length, 0) < PAGE_CHARACTERS;

async function finish<T extends object>(
  source: Source,
  id: ThreadId,
  found: readonly Decoded<T>[],
  hasMore: boolean,
): Promise<Page<T>> {
  const fitting = withinBudget(found);
  const rows = await Promise.all(fitting.map((row) => revive(source, id, row)));
  return { rows, hasMore: hasMore || fitting.length < found.length };
}

async function one<T extends object>(source: Source, id: ThreadId, index: Key, key: (seq: Seq) => Key) {
  const seq = source.rows.get(index);
  const text = seq === undefined ? undefined : source.rows.get(key(Number(seq)));
  return text === undefined ? undefined : revive(source, id, decode<T>(text));
}
