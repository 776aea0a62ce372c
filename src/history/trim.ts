// Thinning out the old part of a log: what its turns, items and context do not follow from goes, the rest stays as it is.

import type { EventOf, StoredEvent, ThreadEvent } from '../model/event.ts';
import type { ItemId, Seq, TurnId } from '../model/ids.ts';
import { linkOf, textOf } from './chain.ts';
import { type Floor, floorOf, type ItemPlace, isGap, sealedGap } from './gaps.ts';
import { ENDLESS } from './keys.ts';
import { decode } from './records.ts';
import { breathe, type Row } from './rows.ts';
import { dropUnusedBlobs, type Trimming } from './trim-blobs.ts';

/** Rows of one transaction; others wait for it. */
const STEP = 200;
const STEP_CHARACTERS = 512 * 1024;

const REVERTING = /"type":"turnsReverted"/;
/** What remembers the place of an item has about this length. */
const GAP_CHARACTERS = 100;
const PLACE_CHARACTERS = 150;

/**
 * Removes up to `through` what nothing shown follows from; behind it nothing is touched. The floor is on disk before anything
 * goes, and each step is a transaction, so that it may be cut off anywhere and is taken up by the next call. No turn may be
 * open before `through`. Gives how many records went.
 */
export async function trimThread(trimming: Trimming, through: Seq): Promise<number> {
  const { rows, keys, id, mayGoOn } = trimming;
  const before = floorOf(rows, keys, id);
  if (through <= before.done) return 0;
  const seq = Math.max(through, before.seq);
  const put = (floor: Floor) =>
    rows.write(() => {
      const goesOn = mayGoOn() && rows.get(keys.head(id)) !== undefined;
      if (goesOn) rows.put(keys.floor(id), JSON.stringify(floor));
      return goesOn;
    });
  if (!(await put({ seq, done: before.done }))) return 0;
  const reverted = await revertedTurns(trimming, before.done);
  // Records of turns that were taken back may lie in what was looked at before.
  const sieve = new Sieve(reverted.turnIds);
  // Cut off before, it may have left some.
  sieve.hadBlobs = before.done < before.seq;
  const lowest = reverted.first <= seq ? 1 : before.done + 1;
  let removed = 0;
  for (let end = seq + 1; end > lowest; ) {
    const step = await trimStep(trimming, sieve, lowest, end);
    if (step === undefined) return removed;
    removed += step.removed;
    end = step.from;
    await breathe();
  }
  if (sieve.hadBlobs) await dropUnusedBlobs(trimming);
  await put({ seq, done: seq });
  return removed;
}

/** The turns that were taken back behind `after`, and where the first of these records is. */
async function revertedTurns({ rows, keys, id }: Trimming, after: Seq) {
  const turnIds = new Set<TurnId>();
  let first = ENDLESS;
  for (let from = after + 1; ; ) {
    const step = rows.scan({
      from: keys.log(id, from),
      to: keys.log(id, ENDLESS),
      limit: STEP,
      characters: STEP_CHARACTERS,
    });
    const last = step.at(-1);
    if (last === undefined) return { turnIds, first };
    for (const row of step) {
      if (!REVERTING.test(row.text) || isGap(row.text)) continue;
      const { event } = decode<StoredEvent>(textOf(row.text)).value;
      if (event.type !== 'turnsReverted') continue;
      first = Math.min(first, seqOf(row));
      for (const turnId of event.turnIds) turnIds.add(turnId);
    }
    from = seqOf(last) + 1;
    await breathe();
  }
}

const seqOf = (row: Row): Seq => row.key[4] as Seq;

/** Backwards from before `end`; undefined: it may not go on. `from` is the first record that was looked at. */
async function trimStep(trimming: Trimming, sieve: Sieve, lowest: Seq, end: Seq) {
  const { rows, keys, id, mayGoOn } = trimming;
  const range = { from: keys.log(id, lowest), to: keys.log(id, end) };
  const step = rows.scan({ ...range, reverse: true, limit: STEP, characters: STEP_CHARACTERS });
  const oldest = step.at(-1);
  if (oldest === undefined) return { removed: 0, from: lowest };
  const runs = runsOf(step, sieve);
  let removed = 0;
  const goesOn = await rows.write(() => {
    if (!mayGoOn() || rows.get(keys.head(id)) === undefined) return false;
    for (const run of runs) removed += replace(trimming, run);
    return true;
  });
  return goesOn ? { removed, from: seqOf(oldest) } : undefined;
}

/** Neighbouring records that can go, the newest first. */
interface Run {
  readonly rows: Row[];
  readonly places: ItemPlace[];
}

function runsOf(step: readonly Row[], sieve: Sieve): Run[] {
  const runs: Run[] = [];
  let open: Run | undefined;
  for (const row of step) {
    const fate = row.isDamaged || isGap(row.text) ? 'stays' : sieve.judge(row);
    if (fate === 'stays') {
      open = undefined;
      continue;
    }
    if (open === undefined) {
      open = { rows: [], places: [] };
      runs.push(open);
    }
    open.rows.push(row);
    if (fate !== 'goes') open.places.unshift(fate);
  }
  return runs;
}

/** Inside a transaction. Nothing happens to a run that is not twice as long as what would stand for it. */
function replace({ rows, keys, id }: Trimming, { rows: run, places }: Run): number {
  const length = run.reduce((sum, row) => sum + row.text.length, 0);
  if (length < 2 * (GAP_CHARACTERS + places.length * PLACE_CHARACTERS)) return 0;
  const [last, first] = [run[0] as Row, run.at(-1) as Row];
  const [before] = rows.scan({ from: keys.log(id, 0), to: first.key, reverse: true, limit: 1 });
  // Beside a damaged record everything stays as it is: what the backup has fits only there.
  if (before === undefined || before.isDamaged) return 0;
  for (const row of run) rows.remove(row.key);
  const gap = { first: seqOf(first), previous: linkOf(before.text), places };
  rows.put(last.key, sealedGap(linkOf(last.text), gap));
  return run.length;
}

/** Events of which only the newest counts, by what they are about. */
const SUBJECTS = new Map<ThreadEvent['type'], string>([
  ['threadNamed', 'name'],
  ['threadArchived', 'archive'],
  ['threadUnarchived', 'archive'],
  ['settingsChanged', 'settings'],
  ['threadRead', 'read state'],
  ['threadUnread', 'read state'],
  ['gitInfoChanged', 'git'],
  ['goalChanged', 'goal'],
  ['queueChanged', 'queue'],
  ['sectionChanged', 'section'],
  ['usageReported', 'usage'],
]);

const nameOf = ({ attachmentType, identityKey }: { attachmentType: string; identityKey: string }): string =>
  JSON.stringify([attachmentType, identityKey]);

/** Events from which nothing follows once their turn is over. */
const PASSING: ReadonlySet<ThreadEvent['type']> = new Set<ThreadEvent['type']>([
  'summaryPartAdded',
  'steered',
  'errorReported',
  'warned',
  'approvalRequested',
  'approvalResolved',
  'turnDiffUpdated',
  'patchWritten',
  'planUpdated',
  'terminalInteraction',
]);

/** Says of each record, from the newest to the oldest, whether something that is shown follows from it. */
class Sieve {
  readonly #reverted: ReadonlySet<TurnId>;
  readonly #subjects = new Set<string>();
  /** Items whose end has been met and whose beginning has not. */
  readonly #ended = new Set<ItemId>();
  /** A record that goes names long values. */
  hadBlobs = false;

  constructor(reverted: ReadonlySet<TurnId>) {
    this.#reverted = reverted;
  }

  judge(row: Row): 'stays' | 'goes' | ItemPlace {
    let decoded: ReturnType<typeof decode<StoredEvent>>;
    try {
      decoded = decode<StoredEvent>(textOf(row.text));
    } catch {
      return 'stays';
    }
    const fate = this.#fateOf(decoded.value.event, seqOf(row));
    if (fate !== 'stays' && decoded.refs.length > 0) this.hadBlobs = true;
    return fate;
  }

  #fateOf(event: ThreadEvent, seq: Seq): 'stays' | 'goes' | ItemPlace {
    switch (event.type) {
      case 'attachmentRemoved':
        this.#isNewest(nameOf(event));
        return 'stays';
      case 'itemStarted':
        return this.#beginning(event, seq);
      case 'itemCompleted':
        if (this.#reverted.has(event.turnId) || this.#ended.has(event.item.id)) return 'goes';
        this.#ended.add(event.item.id);
        return 'stays';
      case 'contextAdded':
        return this.#reverted.has(event.turnId) ? 'goes' : 'stays';
      case 'attachmentAdded':
        return this.#isNewest(nameOf(event.attachment)) ? 'stays' : 'goes';
      default: {
        const subject = SUBJECTS.get(event.type);
        if (subject === undefined) return PASSING.has(event.type) ? 'goes' : 'stays';
        return this.#isNewest(subject) ? 'stays' : 'goes';
      }
    }
  }

  #beginning({ turnId, item }: EventOf<'itemStarted'>, seq: Seq): 'stays' | 'goes' | ItemPlace {
    if (this.#reverted.has(turnId)) return 'goes';
    return this.#ended.delete(item.id) ? { seq, turnId, itemId: item.id, type: item.type } : 'stays';
  }

  #isNewest(subject: string): boolean {
    if (this.#subjects.has(subject)) return false;
    this.#subjects.add(subject);
    return true;
  }
}
