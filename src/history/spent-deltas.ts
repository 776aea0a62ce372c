// Streamed text of turns that have ended: hidden with the end of the turn, and removed a little at a time, however much it is.

import { systemClock } from '../base/clock.ts';
import { SingleRun } from '../base/single-run.ts';
import type { DeltaEvent, StoredEvent } from '../model/event.ts';
import type { ItemId, Seq, ThreadId, TurnId } from '../model/ids.ts';
import { after, below, ENDLESS, type Key, type Keys } from './keys.ts';
import type { Source } from './reader.ts';
import { decode } from './records.ts';
import type { Row, Rows } from './rows.ts';
import type { TurnSpan } from './tables.ts';

/** Rows looked at by one step. */
export const DELTA_STEP = 256;
/** Between two slices while others work, in ms. */
const PAUSE_MS = 20;

/** What is to go: all of the turn from a number on, but for the items named. */
interface Spent {
  readonly threadId: ThreadId;
  readonly turnId: TurnId;
  readonly from: Seq;
  readonly running: readonly ItemId[];
}

/** Inside a transaction: from now on the deltas of the turn are not there, but for those of items that still run. */
export function spendDeltas(
  rows: Rows,
  keys: Keys,
  id: ThreadId,
  turn: Pick<TurnSpan, 'id' | 'seq'>,
  running: readonly ItemId[],
): void {
  const spent: Spent = { threadId: id, turnId: turn.id, from: turn.seq, running };
  const mark = keys.spent(id, turn.id);
  const from = removeSome(rows, keys, spent, keys.deltasFrom(id, spent.from));
  if (from !== undefined) rows.put(mark, JSON.stringify(spent));
  else if (hasRow(rows, mark)) rows.remove(mark);
}

/** Whether a row of a delta is not there any more. */
export function spentIn(rows: Rows, keys: Keys, id: ThreadId): (row: Row) => boolean {
  const known = new Map<string, Spent | undefined>();
  return (row) => {
    const turn = row.key.at(-1) as string;
    if (!known.has(turn)) {
      const mark = keys.spent(id, turn);
      known.set(turn, spentOf(rows.scan({ from: mark, to: after(mark), limit: 1 })[0]));
    }
    const spent = known.get(turn);
    return spent !== undefined && goes(row, spent);
  };
}

/** Removes what is left; nobody waits for it. */
export class SpentDeltas {
  readonly #source: Source;
  readonly #signal: AbortSignal;
  readonly #sweeping: SingleRun;

  constructor(source: Source, signal: AbortSignal) {
    this.#source = source;
    this.#signal = signal;
    const failed = (err: unknown) => source.log.error({ err }, 'streamed text of ended turns could not be removed');
    this.#sweeping = new SingleRun(() => this.#sweep(), failed);
  }

  /** Resolves when nothing is left of what has been spent so far. */
  sweep(): Promise<void> {
    return this.#sweeping.run();
  }

  close(): Promise<void> {
    return this.#sweeping.settled();
  }

  async #sweep(): Promise<void> {
    const { rows, keys } = this.#source;
    while (!this.#signal.aborted) {
      const [mark] = rows.scan({ ...below(keys.spent()), limit: 1 });
      if (mark === undefined) return;
      await this.#finish(mark);
    }
  }

  /** Until nothing is left, or the mark is another. */
  async #finish(mark: Row): Promise<void> {
    const { rows, keys } = this.#source;
    const spent = spentOf(mark) as Spent;
    let from: Key | undefined = keys.deltasFrom(spent.threadId, spent.from);
    while (from !== undefined) {
      const ms = await rows.pace.slice(PAUSE_MS, this.#signal);
      if (ms === 0) return;
      const begin: Key = from;
      from = await rows.writeAside(() => {
        const [now] = rows.scan({ from: mark.key, to: after(mark.key), limit: 1 });
        if (now?.text !== mark.text) return undefined;
        const end = systemClock.elapsed() + ms;
        let next: Key | undefined = begin;
        do next = removeSome(rows, keys, spent, next);
        while (next !== undefined && systemClock.elapsed() < end);
        if (next === undefined) rows.remove(mark.key);
        return next;
      });
    }
  }
}

/** Inside a transaction. Gives where to go on; undefined: that was all. */
function removeSome(rows: Rows, keys: Keys, spent: Spent, from: Key): Key | undefined {
  const { threadId, turnId } = spent;
  const step = rows.scan({ from, to: keys.deltasFrom(threadId, ENDLESS), limit: DELTA_STEP });
  for (const row of step) if (keys.isDelta(row.key, turnId) && goes(row, spent)) rows.remove(row.key);
  const last = step.at(-1);
  return last === undefined || step.length < DELTA_STEP ? undefined : after(last.key);
}

const goes = (row: Row, { running }: Spent): boolean =>
  running.length === 0 ||
  row.isDamaged === true ||
  !running.includes(decode<StoredEvent<DeltaEvent>>(row.text).value.event.itemId);

/** A damaged mark says by its key which turn goes. */
function spentOf(mark: Row | undefined): Spent | undefined {
  if (mark === undefined) return undefined;
  if (!mark.isDamaged) return JSON.parse(mark.text) as Spent;
  const [threadId, turnId] = mark.key.slice(-2) as [ThreadId, TurnId];
  return { threadId, turnId, from: 0, running: [] };
}

const hasRow = (rows: Rows, key: Key): boolean => rows.scan({ from: key, to: after(key), limit: 1 }).length > 0;
