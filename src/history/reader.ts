// Reading a thread's log from rows: pages that cost the same wherever they begin.

import type { Log } from '../base/log.ts';
import type { ContextItem } from '../model/context.ts';
import { type DeltaEvent, lastSeq, type StoredEvent } from '../model/event.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import type { Blobs } from './blobs.ts';
import { type Head, textOf } from './chain.ts';
import { spared } from './checksum.ts';
import { floorOf, isGap, staleCursor } from './gaps.ts';
import { after, below, beyond, ENDLESS, type Key, type Keys } from './keys.ts';
import { type BlobRef, type Decoded, decode, fill } from './records.ts';
import { breathe, type Row, type Rows, undamaged } from './rows.ts';
import { spentIn } from './spent-deltas.ts';

/** Rows read before other work gets its turn. */
export const STEP = 500;
/** A page ends behind the record that reaches this many characters, so that it fits into memory and a frame. */
export const PAGE_CHARACTERS = 4 * 1024 * 1024;

/** Where records come from. */
export interface Source {
  readonly rows: Rows;
  readonly keys: Keys;
  readonly blobs: Blobs;
  readonly log: Log;
}

export async function readEvents(source: Source, id: ThreadId, after: Seq, limit: number): Promise<StoredEvent[]> {
  let deltasAfter = after;
  for (;;) {
    const { events, end } = scanEvents(source, id, after, deltasAfter, limit);
    if (events.length === 0 && end !== ENDLESS) {
      // Nothing but text that is on its way out, up to there.
      deltasAfter = end;
      await breathe();
      continue;
    }
    const page = withinBudget(events.slice(0, limit));
    return Promise.all(page.map((event) => revive(source, id, event)));
  }
}

/** What there is up to `end`. Both kinds of rows are read at once, lest one has what the other lacks. */
function scanEvents(source: Source, id: ThreadId, after: Seq, deltasAfter: Seq, limit: number) {
  const { rows, keys } = source;
  const bounds = { limit, characters: PAGE_CHARACTERS };
  const kept = rows.scan({ from: keys.log(id, after + 1), to: keys.log(id, ENDLESS), ...bounds });
  const deltas = rows.scan({ from: keys.deltasFrom(id, deltasAfter + 1), to: keys.deltasFrom(id, ENDLESS), ...bounds });
  checkFloor(source, id, after, kept);
  const isSpent = spentIn(rows, keys, id);
  const cut = cutDelta(source, id, after, isSpent);
  const records = [
    ...kept.map((row) => () => parse(source, id, row, textOf(row.text))),
    ...deltas.filter((row) => !isSpent(row)).map((row) => () => parse(source, id, row, row.text)),
  ];
  // Behind the end of either page the other may have records that were not read.
  const end = Math.min(endOf(kept, bounds), endOf(deltas, bounds));
  const events = records.map((read) => read()).filter(({ value }) => value.seq <= end);
  events.sort((a, b) => a.value.seq - b.value.seq);
  if (cut !== undefined) events.unshift(cut);
  return { events, end };
}

/** Read after the rows: what was removed before they were read lies below the floor. */
function checkFloor({ rows, keys }: Source, id: ThreadId, after: Seq, kept: readonly Row[]): void {
  const gap = kept.findLast((row) => isGap(row.text));
  const oldest = Math.max(floorOf(rows, keys, id).seq, gap === undefined ? 0 : seqOf(gap.key));
  if (after >= oldest) return;
  const head = spared(() => rows.get(keys.head(id)));
  throw staleCursor(id, after, oldest, head === undefined ? oldest : (JSON.parse(head) as Head).seq);
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
function cutDelta(
  { rows, keys }: Source,
  id: ThreadId,
  after: Seq,
  isSpent: (row: Row) => boolean,
): Decoded<StoredEvent> | undefined {
  const range = { from: keys.deltasFrom(id, 0), to: keys.deltasFrom(id, after + 1) };
  const [row] = rows.scan({ ...range, reverse: true, limit: 1 });
  if (row === undefined || row.isDamaged || isSpent(row)) return undefined;
  const { value, refs } = decode<StoredEvent<DeltaEvent>>(row.text);
  if (lastSeq(value) <= after) return undefined;
  const parts = value.event.parts.slice(after + 1 - value.seq);
  return { value: { ...value, seq: after + 1, event: { ...value.event, parts } }, refs };
}

/** A record that cannot be read costs no other: in its place stands a warning that says so. */
function parse(source: Source, id: ThreadId, row: Row, text: string): Decoded<StoredEvent> {
  try {
    const decoded = decode<StoredEvent>(undamaged(row) && text);
    if (decoded.value.seq !== seqOf(row.key)) throw new Error('it lies in the place of another');
    return decoded;
  } catch (error) {
    const seq = seqOf(row.key);
    source.log.error({ err: error, threadId: id, seq }, 'a record of the history is damaged');
    const message = `Record ${seq} of this thread is damaged and left out; "heddle history verify" says more.`;
    return { value: { seq, atMs: 0, event: { type: 'warned', turnId: null, message } }, refs: [] };
  }
}

/** As many of the records as fit into a page, at least one. */
export function withinBudget<T>(records: readonly Decoded<T>[]): readonly Decoded<T>[] {
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

export async function readContext(source: Source, id: ThreadId): Promise<ContextItem[]> {
  const { rows, keys } = source;
  const items: ContextItem[] = [];
  let range = below(keys.contexts(id));
  for (;;) {
    const step = rows.scan({ ...range, limit: STEP });
    for (const { key } of step) {
      const from = keys.log(id, seqOf(key));
      const [record] = rows.scan({ from, to: after(from), limit: 1 });
      if (record === undefined) continue;
      const { event } = await revive(source, id, parse(source, id, record, textOf(record.text)));
      if (event.type !== 'contextAdded') continue;
      if (event.replaces) items.length = 0;
      items.push(...event.items);
    }
    const last = step.at(-1);
    if (last === undefined || step.length < STEP) return items;
    range = beyond(range, last.key, false);
    await breathe();
  }
}
