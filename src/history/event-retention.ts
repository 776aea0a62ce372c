// Events that are older, or more, than the operator wants to keep: how far each log is to be thinned out.

import type { Seq, ThreadId } from '../model/ids.ts';
import { textOf } from './chain.ts';
import { floorOf } from './gaps.ts';
import { below, beyond, ENDLESS, type KeyRange } from './keys.ts';
import type { RetentionWork } from './retention.ts';
import { breathe, type Row, type Rows } from './rows.ts';
import { namesIn } from './threads-in.ts';
import { trimThread } from './trim.ts';

export interface EventRetention {
  /** Records accepted longer ago are thinned out. Null: age thins nothing out. */
  readonly eventsMs: number | null;
  /** Of each thread the newest records are kept whole up to this many characters. Null: size thins nothing out. */
  readonly eventsCharacters: number | null;
}

const STEP = 500;
const STEP_CHARACTERS = 1024 * 1024;

/** Which threads need not be measured again. */
export interface Measured {
  /** Those without a turn since then, in epoch milliseconds, */
  readonly since: number;
  /** but for these, which were in use. */
  readonly skipped: Set<ThreadId>;
}

/** Thins out the logs of threads that nobody uses; gives how many records went. Ends early on abort. */
export async function applyEventRetention(
  work: RetentionWork,
  limits: EventRetention,
  measured: Measured,
): Promise<number> {
  const { rows, store, tenant, log, signal } = work;
  if (limits.eventsMs === null && limits.eventsCharacters === null) return 0;
  let removed = 0;
  for (const name of namesIn(rows, tenant)) {
    if (signal.aborted) break;
    await breathe();
    try {
      const meta = await store.meta(name);
      if (meta === undefined) continue;
      const isMeasured = meta.updatedAtMs < measured.since && !measured.skipped.delete(meta.id);
      if (work.isInUse(meta.id)) {
        measured.skipped.add(meta.id);
        continue;
      }
      const through = await cutOf(work, meta.id, isMeasured ? { ...limits, eventsCharacters: null } : limits);
      const mayGoOn = () => !signal.aborted && !work.isInUse(meta.id);
      const gone = await trimThread({ ...work, id: meta.id, mayGoOn }, through);
      if (gone > 0)
        log.info({ threadId: meta.id, through, records: gone }, 'old events were removed as the retention says');
      removed += gone;
    } catch (error) {
      log.error({ err: error, threadId: name }, 'the events of a thread could not be thinned out');
    }
  }
  return removed;
}

/** The last record that is beyond a limit, and not of a turn that is open; what was begun before is finished. */
async function cutOf(work: RetentionWork, id: ThreadId, limits: EventRetention): Promise<Seq> {
  const { rows, keys, now } = work;
  const floor = floorOf(rows, keys, id).seq;
  const tooOld = limits.eventsMs === null ? floor : await olderThan(work, id, floor, now() - limits.eventsMs);
  const tooMany = limits.eventsCharacters === null ? floor : await behindThe(work, id, floor, limits.eventsCharacters);
  const cut = Math.max(floor, tooOld, tooMany);
  return cut === floor
    ? floor
    : Math.min(cut, openFrom(rows.scan({ ...below(keys.openTurnsOf(id)), limit: STEP })) - 1);
}

/** In the order of acceptance, whatever a clock said later. */
async function olderThan({ rows, keys }: RetentionWork, id: ThreadId, floor: Seq, oldestMs: number): Promise<Seq> {
  let cut = floor;
  // Most threads have nothing, and one record tells.
  for (let limit = 1; ; limit = STEP) {
    const range = { from: keys.log(id, cut + 1), to: keys.log(id, ENDLESS) };
    const step = rows.scan({ ...range, limit, characters: STEP_CHARACTERS });
    for (const row of step) {
      if (!row.isDamaged && acceptedAt(row) >= oldestMs) return cut;
      cut = row.key[4] as Seq;
    }
    if (step.length === 0) return cut;
    await breathe();
  }
}

/** Canonical text begins with it. */
const acceptedAt = ({ text }: Row): number => Number(/^\{"atMs":(-?\d+)/.exec(textOf(text))?.[1] ?? Number.NaN);

async function behindThe({ rows, keys }: RetentionWork, id: ThreadId, floor: Seq, most: number): Promise<Seq> {
  let size = 0;
  let range: KeyRange = { from: keys.log(id, floor + 1), to: keys.log(id, ENDLESS) };
  for (;;) {
    const step = rows.scan({ ...range, reverse: true, limit: STEP, characters: STEP_CHARACTERS });
    for (const { key, text } of step) {
      size += text.length;
      if (size > most) return key[4] as Seq;
    }
    const last = step.at(-1);
    if (last === undefined) return floor;
    range = beyond(range, last.key, true);
    await breathe();
  }
}

/** A row that cannot be read might be of any turn. */
function openFrom(open: ReturnType<Rows['scan']>): Seq {
  return Math.min(
    ENDLESS,
    ...open.map(({ text, isDamaged }) => (isDamaged ? 1 : (JSON.parse(text) as { seq: Seq }).seq)),
  );
}
