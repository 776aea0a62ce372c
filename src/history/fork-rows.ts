// The quick part of a fork: rows of the tables go over as they are where nothing has changed them since the point of the fork.

import type { StoredEvent, ThreadEvent } from '../model/event.ts';
import type { ItemId, Seq, ThreadId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { LINK_LENGTH, linkOf, textOf } from './chain.ts';
import { gapOf } from './gaps.ts';
import { below, beyond, type KeyRange } from './keys.ts';
import type { CopyTarget, LogCopy } from './log-copy.ts';
import type { Source } from './reader.ts';
import { decode } from './records.ts';
import { type Batch, breathe, type Row, type Transfer } from './rows.ts';
import type { ItemRow } from './store.ts';
import { derive, NO_TABLES, type TurnSpan } from './tables.ts';

/** Rows in memory at once. */
const STEP = 250;
const STEP_CHARACTERS = 64 * 1024;
/** Rows that are looked at before others have their turn. */
const PREPARED_AT_ONCE = 250;

/** Events about the thread itself; a fork has its own. */
export const OF_THE_THREAD: ReadonlySet<ThreadEvent['type']> = new Set<ThreadEvent['type']>([
  'threadCreated',
  'threadNamed',
  'threadArchived',
  'threadUnarchived',
  'settingsChanged',
  'threadRead',
  'threadUnread',
  'gitInfoChanged',
  'goalChanged',
  'queueChanged',
  'sectionChanged',
  'attachmentAdded',
  'attachmentRemoved',
]);

/** Types of events that must be looked into. */
const NOTABLE: ReadonlySet<string> = new Set([
  ...OF_THE_THREAD,
  'turnStarted',
  'turnCompleted',
  'usageReported',
  'terminalLeft',
]);
/** Most records have a type that begins with none of these. */
const NOTABLE_LETTERS: ReadonlySet<number | undefined> = new Set([...NOTABLE].map((type) => type.charCodeAt(0)));
const TYPE = Buffer.from('"type":"');
/** Longer than each of their names. */
const NAME_LENGTH = 24;
const [QUOTE, COMMA, LETTER_B, LETTER_G] = [...Buffer.from('",bg')] as [number, number, number, number];
/** Behind `{"`. */
const FIRST_MEMBER = LINK_LENGTH + 2;

/**
 * Members of canonical text are in order: the time comes first, long values are named before the event, and its type is the
 * last one that is given. Quotes inside of strings are escaped, so only members match. Gaps begin otherwise.
 */
function isNotable(record: Buffer): boolean {
  if (record[FIRST_MEMBER] === LETTER_G) return true;
  let next = FIRST_MEMBER;
  while (next < record.length && record[next - 1] !== COMMA) next += 1;
  if (record[next] === QUOTE && record[next + 1] === LETTER_B) return true;
  const at = endOfLast(TYPE, record);
  if (!NOTABLE_LETTERS.has(record[at])) return false;
  const name = record.toString('latin1', at, at + NAME_LENGTH);
  return NOTABLE.has(name.slice(0, name.indexOf('"')));
}

/** It lies near the end, where a call would cost more than to look. */
function endOfLast(part: Buffer, record: Buffer): number {
  const last = part[part.length - 1];
  for (let end = record.length; end >= part.length; end -= 1) {
    if (record[end - 1] !== last) continue;
    let length = 1;
    while (length < part.length && record[end - 1 - length] === part[part.length - 1 - length]) length += 1;
    if (length === part.length) return end;
  }
  return 0;
}

const LATE_CHANGE = /"type":"(?:turnsReverted|itemCompleted)"/;

/** A row or record is damaged: the copy has to begin anew, and be derived from the log. */
export class NotCopied extends Error {}

/**
 * Copies what can be copied as it is, into a copy that has only its first record. Gives the last sequence number that is
 * done; 0: nothing was copied. Throws `NotCopied`.
 */
export async function copyRows(
  target: CopyTarget,
  copy: LogCopy,
  source: ThreadId,
  at: Seq,
  check: () => void,
): Promise<Seq> {
  const end = await unchangedUntil(target, source, at);
  if (end === 0) return 0;
  const rows = new RowCopy(target, copy, source, end, check);
  await rows.tables();
  await rows.log();
  return end;
}

/** How far the tables are what they were when the log ended at `at`. */
async function unchangedUntil(source: Source, id: ThreadId, at: Seq): Promise<Seq> {
  const { rows, keys } = source;
  for await (const step of steps(source, { from: keys.log(id, at + 1), to: keys.logs(id).concat('\uffff') }))
    for (const row of step) {
      if (row.isDamaged) return 0;
      if (LATE_CHANGE.test(row.text) && changesBefore(source, id, at, textOf(row.text))) return 0;
    }
  for await (const step of steps(source, { from: keys.turn(id, 0), to: keys.turn(id, at + 1) }))
    for (const row of step) {
      if (row.isDamaged) return 0;
      const turn = decode<TurnSpan>(row.text).value;
      if (turn.endSeq === undefined || turn.endSeq > at) return turn.seq - 1;
    }
  return rows.get(keys.head(id)) === undefined ? 0 : at;
}

function changesBefore({ rows, keys }: Source, id: ThreadId, at: Seq, text: string): boolean {
  const { event } = decode<StoredEvent>(text).value;
  if (event.type === 'turnsReverted') return true;
  if (event.type !== 'itemCompleted') return false;
  const seq = rows.get(keys.itemSeq(id, event.item.id));
  return seq !== undefined && Number(seq) <= at;
}

async function* steps({ rows }: Source, whole: KeyRange): AsyncGenerator<readonly Row[]> {
  let range = whole;
  for (;;) {
    const step = rows.scan({ ...range, limit: STEP, characters: STEP_CHARACTERS });
    const last = step.at(-1);
    if (last === undefined) return;
    yield step;
    range = beyond(range, last.key, false);
    await breathe();
  }
}

/** Whether a row is taken over; `others` is what else is then to be put. */
type GoesOver = (batch: Batch, index: number, others: (() => void)[]) => boolean;

class RowCopy {
  readonly #target: CopyTarget;
  readonly #copy: LogCopy;
  readonly #source: ThreadId;
  readonly #end: Seq;
  readonly #check: () => void;
  readonly #transfer: Transfer;
  /** The last record of the batch that was carried, unless a gap came behind it. */
  #carried: number | undefined;

  constructor(target: CopyTarget, copy: LogCopy, source: ThreadId, end: Seq, check: () => void) {
    this.#target = target;
    this.#copy = copy;
    this.#source = source;
    this.#end = end;
    this.#check = check;
    this.#transfer = target.rows.transfer(target.keys.thread(source), target.keys.thread(target.id));
  }

  /** Turns, items, context, and where each lies. */
  async tables(): Promise<void> {
    const thread = this.#target.keys.thread(this.#source);
    for (const letter of ['u', 'i', 'c'])
      await this.#each({ from: [...thread, letter], to: [...thread, letter, this.#end + 1] }, () => true);
    for (const letter of ['v', 'j'])
      await this.#each(
        below([...thread, letter]),
        (batch, index) => Number(batch.text(index).toString('latin1')) <= this.#end,
      );
  }

  /** Row after row of the source: which of them go over, and with what. The next ones are read while the disk takes these. */
  async #each(range: KeyRange, goesOver: GoesOver): Promise<void> {
    let written = Promise.resolve();
    let rest = range;
    try {
      for (;;) {
        const batch = await this.#transfer.read(rest);
        if (batch.length === 0) return;
        if (batch.isDamaged) throw new NotCopied();
        const put = await this.#prepared(batch, goesOver);
        await written;
        written = this.#target.rows.writePart(put);
        // Seen by the next round, which may not be there yet.
        written.catch(() => {});
        rest = beyond(rest, batch.key(batch.length - 1), false);
      }
    } finally {
      // What is under way would otherwise be there after all else of the copy has been removed.
      await written;
    }
  }

  /** What is left to do when the disk takes them. */
  async #prepared(batch: Batch, goesOver: GoesOver): Promise<() => void> {
    const taken: number[] = [];
    const others: (() => void)[] = [];
    for (let index = 0; index < batch.length; index += 1) {
      if (goesOver(batch, index, others)) taken.push(index);
      if (index % PREPARED_AT_ONCE === 0) await breathe();
    }
    return () => {
      this.#check();
      for (const index of taken) batch.put(index);
      for (const put of others) put();
    };
  }

  async log(): Promise<void> {
    const { keys } = this.#target;
    const range = { from: keys.log(this.#source, 1), to: keys.log(this.#source, this.#end + 1) };
    await this.#each(range, (batch, index, others) => {
      const isCarried = this.#record(batch, index, others);
      if (index === batch.length - 1) this.#pass(batch);
      return isCarried;
    });
    let turnCount = 0;
    for await (const step of steps(this.#target, {
      from: keys.turn(this.#source, 0),
      to: keys.turn(this.#source, this.#end + 1),
    }))
      turnCount += step.length;
    // The ends of items were not looked at.
    const terminals = this.#copy.meta.terminals.filter(({ itemId }) => this.#isOpen(itemId));
    this.#copy.meta = { ...this.#copy.meta, turnCount, terminals } satisfies ThreadMeta;
  }

  #isOpen(itemId: ItemId): boolean {
    const { rows, keys } = this.#target;
    const seq = rows.get(keys.itemSeq(this.#source, itemId));
    const text = seq === undefined ? undefined : rows.get(keys.item(this.#source, Number(seq)));
    return text !== undefined && decode<ItemRow>(text).value.item.completedAtMs === null;
  }

  #record(batch: Batch, index: number, others: (() => void)[]): boolean {
    const record = batch.text(index);
    if (!isNotable(record)) return this.#carry(batch, index);
    const text = record.toString();
    const gap = gapOf(text);
    if (gap !== undefined) {
      others.push(this.#copy.gap({ gap, seq: seqOf(batch, index), link: linkOf(text) }));
      this.#carried = undefined;
      return false;
    }
    const { value, refs } = decode<StoredEvent>(textOf(text));
    if (OF_THE_THREAD.has(value.event.type)) return false;
    if (refs.length > 0) others.push(() => this.#copy.useBlobs(refs));
    this.#copy.meta = derive(this.#copy.meta, value, NO_TABLES).meta;
    return this.#carry(batch, index);
  }

  #carry(batch: Batch, index: number): true {
    this.#copy.carry(batch, index);
    this.#carried = index;
    return true;
  }

  /** Once for a batch: to decode every key is most of what there would be to decode. */
  #pass(batch: Batch): void {
    if (this.#carried !== undefined) this.#copy.passed(seqOf(batch, this.#carried));
    this.#carried = undefined;
  }
}

const seqOf = (batch: Batch, index: number): Seq => batch.key(index)[4] as Seq;
