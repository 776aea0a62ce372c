// Reading a thread's records from rows: pages that cost the same wherever they begin.

import { AppError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { ContextItem } from '../model/context.ts';
import { type DeltaEvent, lastSeq, type StoredEvent } from '../model/event.ts';
import type { ItemId, Seq, ThreadId, TurnId } from '../model/ids.ts';
import type { Blobs } from './blobs.ts';
import { beyond } from './catalogue.ts';
import { textOf } from './chain.ts';
import { below, ENDLESS, type Key, type KeyRange, type Keys } from './keys.ts';
import { type BlobRef, type Decoded, decode, fill } from './records.ts';
import { breathe, type Row, type Rows } from './rows.ts';
import type { ItemQuery, ItemRow, Page, TurnQuery, TurnRow } from './store.ts';
import type { TurnSpan } from './tables.ts';

/** Rows read before other work gets its turn. */
const STEP = 500;
/** A page ends behind the record that reaches this many characters, so that it fits into memory and a frame. */
const PAGE_CHARACTERS = 4 * 1024 * 1024;

/** Where records come from. */
export interface Source {
  readonly rows: Rows;
  readonly keys: Keys;
  readonly blobs: Blobs;
  readonly log: Log;
}

export async function readEvents(source: Source, id: ThreadId, after: Seq, limit: number): Promise<StoredEvent[]> {
  const { rows, keys } = source;
  const bounds = { limit, characters: PAGE_CHARACTERS };
  const kept = rows.scan({ from: keys.log(id, after + 1), to: keys.log(id, ENDLESS), ...bounds });
  const deltas = rows.scan({ from: keys.deltasFrom(id, after + 1), to: keys.deltasFrom(id, ENDLESS), ...bounds });
  const cut = cutDelta(source, id, after);
  const records = [
    ...kept.map(
      ({ key, text }) =>
        () =>
          parse(source, id, key, textOf(text)),
    ),
    ...deltas.map(
      ({ key, text }) =>
        () =>
          parse(source, id, key, text),
    ),
  ];
  // Behind the end of either page the other may have records that were not read.
  const end = Math.min(endOf(kept, bounds), endOf(deltas, bounds));
  const events = records.map((read) => read()).filter(({ value }) => value.seq <= end);
  events.sort((a, b) => a.value.seq - b.value.seq);
  if (cut !== undefined) events.unshift(cut);
  const page = withinBudget(events.slice(0, limit));
  return Promise.all(page.map((event) => revive(source, id, event)));
}

/** Sequence number of the last row, if the scan may have ended there before the end of the range. */
function endOf(page: readonly Row[], bounds: { readonly limit: number; readonly characters: number }): Seq {
  const last = page.at(-1);
  if (last === undefined) return ENDLESS;
  const total = page.reduce((sum, row) => sum + row.text.length, 0);
  return page.length === bounds.limit || total >= bounds.characters ? seqOf(last.key) : ENDLESS;
}

const seqOf = (key: Key): Seq => key[4] as Seq;

/** The parts behind `after` of the delta in which it lies, if it lies in one. */
function cutDelta({ rows, keys }: Source, id: ThreadId, after: Seq): Decoded<StoredEvent> | undefined {
  const range = { from: keys.deltasFrom(id, 0), to: keys.deltasFrom(id, after + 1) };
  const [row] = rows.scan({ ...range, reverse: true, limit: 1 });
  if (row === undefined) return undefined;
  const { value, refs } = decode<StoredEvent<DeltaEvent>>(row.text);
  if (lastSeq(value) <= after) return undefined;
  const parts = value.event.parts.slice(after + 1 - value.seq);
  return { value: { ...value, seq: after + 1, event: { ...value.event, parts } }, refs };
}

function parse(source: Source, id: ThreadId, key: Key, text: string): Decoded<StoredEvent> {
  try {
    return decode<StoredEvent>(text);
  } catch (error) {
    const seq = seqOf(key);
    source.log.error({ threadId: id, seq }, 'a record of the history cannot be read');
    throw new AppError(
      'unavailable',
      `record ${seq} of thread ${id} is damaged: run "heddle history verify"`,
      { kind: 'damaged', threadId: id, seq },
      { cause: error },
    );
  }
}

/** As many of the records as fit into a page, at least one. */
function withinBudget<T>(records: readonly Decoded<T>[]): readonly Decoded<T>[] {
  let total = 0;
  const end = records.findIndex(({ refs }) => {
    const before = total;
    total += refs.reduce((sum, ref) => sum + ref.bytes, 0);
    return before > 0 && total > PAGE_CHARACTERS;
  });
  return end === -1 ? records : records.slice(0, Math.max(1, end));
}

/** Puts back what was taken out. A blob that is gone leaves words that say so: one bad file must not close a thread. */
export async function revive<T extends object>(source: Source, id: ThreadId, record: Decoded<T>): Promise<T> {
  for (const ref of record.refs)
    fill(record.value, ref.path, (await source.blobs.read(ref.hash)) ?? lost(source, id, ref));
  return record.value;
}

/** The same, at once: for the few rows that are needed inside a transaction. */
export function reviveSync<T extends object>(source: Source, id: ThreadId, record: Decoded<T>): T {
  for (const ref of record.refs) fill(record.value, ref.path, source.blobs.readSync(ref.hash) ?? lost(source, id, ref));
  return record.value;
}

function lost({ log }: Source, id: ThreadId, { hash, bytes, path }: BlobRef): string {
  log.error({ threadId: id, hash, bytes, path: path.join('.') }, 'a long value of the history is missing or damaged');
  return `[${bytes} bytes are missing here: the stored value ${hash} is lost or damaged]`;
}

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
    for (const { text } of step) {
      const row = decode<T>(text);
      if (!fits(row.value)) continue;
      if (found.length === limit || characters >= PAGE_CHARACTERS) return finish(source, id, found, true);
      found.push(row);
      characters += text.length;
    }
    const last = step.at(-1);
    if (last === undefined) return finish(source, id, found, false);
    range = beyond(range, last.key, reverse);
    await breathe();
  }
}

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

export async function readContext(source: Source, id: ThreadId): Promise<ContextItem[]> {
  const { rows, keys } = source;
  const items: ContextItem[] = [];
  let range = below(keys.contexts(id));
  for (;;) {
    const step = rows.scan({ ...range, limit: STEP });
    for (const { key } of step) {
      const record = rows.get(keys.log(id, seqOf(key)));
      if (record === undefined) continue;
      const { event } = await revive(source, id, parse(source, id, key, textOf(record)));
      if (event.type === 'contextAdded') items.push(...event.items);
    }
    const last = step.at(-1);
    if (last === undefined || step.length < STEP) return items;
    range = beyond(range, last.key, false);
    await breathe();
  }
}
