// The kept records of a log in pages, whatever has become of some of them.

import { AppError } from '../base/errors.ts';
import type { StoredEvent } from '../model/event.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import { linkOf, textOf } from './chain.ts';
import { gapOf } from './gaps.ts';
import { beyond, type KeyRange } from './keys.ts';
import type { CopiedRecord, LogRecord } from './log-copy.ts';
import { readItem } from './pages.ts';
import { revive, type Source } from './reader.ts';
import { decode } from './records.ts';
import { breathe } from './rows.ts';

/** Records read at once: what they hold is in memory twice. */
const STEP = 200;
const STEP_CHARACTERS = 256 * 1024;

/** The kept records of a thread from `first` to `at`, and what stands for removed ones; damaged ones are left out. */
export async function* keptRecords(source: Source, id: ThreadId, first: Seq, at: Seq): AsyncGenerator<LogRecord[]> {
  const { rows, keys, log } = source;
  let range: KeyRange = { from: keys.log(id, first), to: keys.log(id, at + 1) };
  for (;;) {
    const step = rows.scan({ ...range, limit: STEP, characters: STEP_CHARACTERS });
    const last = step.at(-1);
    if (last === undefined) return;
    const records: LogRecord[] = [];
    for (const row of step) {
      try {
        if (row.isDamaged) throw new AppError('unavailable', 'it is not what was written');
        const gap = gapOf(row.text);
        if (gap !== undefined) records.push({ gap, seq: row.key[4] as Seq, link: linkOf(row.text) });
        else records.push(await whole(source, id, textOf(row.text)));
      } catch (error) {
        log.error({ err: error, threadId: id, key: row.key }, 'a damaged record of the history is left out of a copy');
      }
    }
    yield records;
    range = beyond(range, last.key, false);
    await breathe();
  }
}

async function whole(source: Source, id: ThreadId, text: string): Promise<CopiedRecord> {
  const decoded = decode<StoredEvent>(text);
  const { refs } = decoded;
  const stored = refs.length === 0 ? decoded.value : await revive(source, id, decoded);
  return { stored, text, refs };
}

/**
 * What is left of a log up to `through`, in order and without deltas; where the beginning of an item was removed, the item
 * stands there as it is now.
 */
export async function* keptEvents(source: Source, id: ThreadId, through: Seq): AsyncGenerator<StoredEvent> {
  for await (const records of keptRecords(source, id, 1, through))
    for (const record of records) {
      if (!('gap' in record)) yield record.stored;
      else
        for (const { seq, turnId, itemId } of record.gap.places) {
          const item = (await readItem(source, id, itemId))?.item;
          if (item !== undefined)
            yield { seq, atMs: item.startedAtMs ?? 0, event: { type: 'itemStarted', turnId, item } };
        }
    }
}
