// Rows of a thread's tables that nothing in its log yields: what is left of damage when all else has been made anew.

import type { ThreadId } from '../model/ids.ts';
import { spared } from './checksum.ts';
import { after, below, ENDLESS } from './keys.ts';
import type { Source } from './reader.ts';
import { decode } from './records.ts';
import { breathe, type Row } from './rows.ts';
import type { ItemRow } from './store.ts';
import { tableReader } from './table-rows.ts';
import type { TableReader, TurnSpan } from './tables.ts';

/** Rows of one transaction; others wait for it. */
const STEP = 200;
const STEP_CHARACTERS = 512 * 1024;

/** Turns, items and where they lie, context, attachments and where they lie. */
const TABLES = ['u', 'v', 'i', 'j', 'c', 'a', 'e'];

/** Removes rows that are still damaged, and those of items that lie elsewhere, too. */
export async function clearLeftovers({ rows, keys }: Source, id: ThreadId): Promise<void> {
  const tables = tableReader(rows, keys, id);
  for (const table of TABLES) {
    let { from, to } = below([...keys.thread(id), table]);
    for (;;) {
      const last = await rows.writePart(() => {
        const step = rows.scan({ from, to, limit: STEP, characters: STEP_CHARACTERS });
        for (const row of step) if (row.isDamaged || (table === 'i' && isElsewhere(tables, row))) rows.remove(row.key);
        return step.at(-1)?.key;
      });
      if (last === undefined) break;
      from = after(last);
      await breathe();
    }
  }
}

/** Inside a transaction: of the items and the context from the turn's beginning to its end. */
export function clearDamaged({ rows, keys }: Source, id: ThreadId, { seq, endSeq = ENDLESS - 1 }: TurnSpan): void {
  for (const key of [keys.item, keys.context])
    for (const row of rows.scan({ from: key(id, seq), to: key(id, endSeq + 1), limit: Infinity }))
      if (row.isDamaged) rows.remove(row.key);
}

function isElsewhere(tables: TableReader, { key, text }: Row): boolean {
  // One that is damaged itself is met, and removed, later.
  const place = spared(() => tables.itemSeq(decode<ItemRow>(text).value.item.id));
  return place !== undefined && place !== key.at(-1);
}
