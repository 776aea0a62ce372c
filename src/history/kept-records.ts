// The kept records of a log in pages, whatever has become of some of them.

import { AppError } from '../base/errors.ts';
import type { StoredEvent } from '../model/event.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import { textOf } from './chain.ts';
import { beyond, type KeyRange } from './keys.ts';
import type { CopiedRecord } from './log-copy.ts';
import { revive, type Source } from './reader.ts';
import { decode } from './records.ts';
import { breathe } from './rows.ts';

/** Records read at once: what they hold is in memory twice. */
const STEP = 200;
const STEP_CHARACTERS = 256 * 1024;

/** The kept records of a thread from `first` to `at`; damaged ones are left out. */
export async function* keptRecords(source: Source, id: ThreadId, first: Seq, at: Seq): AsyncGenerator<CopiedRecord[]> {
  const { rows, keys, log } = source;
  let range: KeyRange = { from: keys.log(id, first), to: keys.log(id, at + 1) };
  for (;;) {
    const step = rows.scan({ ...range, limit: STEP, characters: STEP_CHARACTERS });
    const last = step.at(-1);
    if (last === undefined) return;
    const records: CopiedRecord[] = [];
    for (const row of step) {
      try {
        if (row.isDamaged) throw new AppError('unavailable', 'it is not what was written');
        const text = textOf(row.text);
        const decoded = decode<StoredEvent>(text);
        const { refs } = decoded;
        const stored = refs.length === 0 ? decoded.value : await revive(source, id, decoded);
        records.push({ stored, text, refs });
      } catch (error) {
        log.error({ err: error, threadId: id, key: row.key }, 'a damaged record of the history is left out of a copy');
      }
    }
    yield records;
    range = beyond(range, last.key, false);
    await breathe();
  }
}
