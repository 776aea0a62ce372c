// The quick part of a fork: rows of the tables go over as they are where nothing has changed them since the point of the fork.

import type { StoredEvent, ThreadEvent } from '../model/event.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { linkOf, textOf } from './chain.ts';
import { gapOf } from './gaps.ts';
import { below, beyond, type Key, type KeyRange } from './keys.ts';
import type { CopyTarget, LogCopy } from './log-copy.ts';
import type { Source } from './reader.ts';
import { decode } from './records.ts';
import { breathe, type Row } from './rows.ts';
import { derive, NO_TABLES, type TurnSpan } from './tables.ts';

/** Rows in memory at once. */
const STEP = 1000;
const STEP_CHARACTERS = 256 * 1024;

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
const NOTABLE: ReadonlySet<string> = new Set([...OF_THE_THREAD, 'turnStarted', 'turnCompleted', 'usageReported']);
const TYPE = '"type":"';
const BLOBS = '"blobs":[';

/**
 * Members of canonical text are in order: long values are named before the event, and its type is the last one that is given.
 * Quotes inside of strings are escaped, so only members match.
 */
function isNotable(text: string): boolean {
  const at = text.lastIndexOf(TYPE) + TYPE.length;
  return NOTABLE.has(text.slice(at, text.indexOf('"', at))) || text.slice(0, 40).includes(BLOBS);
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

class RowCopy {
  readonly #target: CopyTarget;
  readonly #copy: LogCopy;
  readonly #source: ThreadId;
  readonly #end: Seq;
  readonly #check: () => void;

  constructor(target: CopyTarget, copy: LogCopy, source: ThreadId, end: Seq, check: () => void) {
    this.#target = target;
    this.#copy = copy;
    this.#source = source;
    this.#end = end;
    this.#check = check;
  }

  /** Turns, items, context, and where each lies. */
  async tables(): Promise<void> {
    const { keys, id } = this.#target;
    const [from, to] = [keys.thread(this.#source), keys.thread(id)];
    for (const letter of ['u', 'i', 'c']) await this.#range(from, to, letter, ({ key }) => key[4] as Seq);
    for (const letter of ['v', 'j']) await this.#range(from, to, letter, ({ text }) => Number(text));
  }

  async #range(from: Key, to: Key, letter: string, seqOf: (row: Row) => Seq): Promise<void> {
    const { rows } = this.#target;
    await this.#each(below([...from, letter]), (row) => {
      if (seqOf(row) <= this.#end) rows.copy([...to, ...row.key.slice(from.length)], row);
    });
  }

  /** Writes row after row of the source; the next ones are read while the disk takes these. */
  async #each(range: KeyRange, write: (row: Row) => void): Promise<void> {
    let writing = Promise.resolve();
    for await (const step of steps(this.#target, range)) {
      await writing;
      if (step.some((row) => row.isDamaged)) throw new NotCopied();
      writing = this.#copy.inChunks(step, this.#check, write);
      // Seen at the latest when the next ones are there.
      writing.catch(() => {});
    }
    await writing;
  }

  async log(): Promise<void> {
    const { keys } = this.#target;
    const range = { from: keys.log(this.#source, 1), to: keys.log(this.#source, this.#end + 1) };
    let meta = this.#copy.meta;
    let turnCount = 0;
    await this.#each(range, ({ key, text: sealedText }) => {
      const gap = gapOf(sealedText);
      if (gap !== undefined) return this.#copy.gap({ gap, seq: key[4] as Seq, link: linkOf(sealedText) });
      const text = textOf(sealedText);
      if (!isNotable(text)) return this.#copy.link(key[4] as Seq, text);
      const { value, refs } = decode<StoredEvent>(text);
      if (OF_THE_THREAD.has(value.event.type)) return;
      this.#copy.link(key[4] as Seq, text);
      this.#copy.useBlobs(refs);
      meta = derive(meta, value, NO_TABLES).meta;
    });
    for await (const step of steps(this.#target, {
      from: keys.turn(this.#source, 0),
      to: keys.turn(this.#source, this.#end + 1),
    }))
      turnCount += step.length;
    this.#copy.meta = { ...meta, turnCount } satisfies ThreadMeta;
  }
}
