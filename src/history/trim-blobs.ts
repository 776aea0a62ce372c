// Long values that no record of a thread names any more, after some of its records were removed.

import type { StoredEvent } from '../model/event.ts';
import type { Seq, ThreadId } from '../model/ids.ts';
import { isUsed } from './blob-uses.ts';
import { textOf } from './chain.ts';
import { below, ENDLESS } from './keys.ts';
import type { Source } from './reader.ts';
import { decode } from './records.ts';
import { breathe } from './rows.ts';

export interface Trimming extends Source {
  readonly id: ThreadId;
  /** Asked inside each transaction: from the moment that it says no, nothing more is removed. */
  readonly mayGoOn: () => boolean;
}

const STEP = 200;
const STEP_CHARACTERS = 1024 * 1024;

const NAMING = '"blobs":[';

/** Nothing goes while a record is damaged: what it names is not known. */
export async function dropUnusedBlobs(trimming: Trimming): Promise<void> {
  const { rows, keys, blobs, id, mayGoOn } = trimming;
  const uses = rows.scan({ ...below(keys.blobUses(id)), limit: Number.POSITIVE_INFINITY });
  const unused = new Set(uses.map(({ key }) => key.at(-1) as string));
  let seen: Seq = 0;
  while (unused.size > 0) {
    const step = strike(trimming, unused, seen);
    if (step === undefined) break;
    seen = step;
    await breathe();
  }
  for (const hash of unused) {
    const isFree = await rows.write(() => {
      // What was appended since may name it.
      for (let end: Seq | undefined = seen; end !== undefined; end = strike(trimming, unused, seen)) seen = end;
      if (!mayGoOn() || !unused.has(hash)) return false;
      rows.remove(keys.blobUse(id, hash));
      rows.remove(keys.blobOwner(hash, id));
      return true;
    });
    // Cut off before this, a file is left that `heddle history compact` removes.
    if (isFree && (await blobs.mayDrop())) blobs.drop(hash, () => isUsed(rows, hash));
  }
}

/** Takes out what the next records behind `after` name; gives the last of them, undefined at the end of the log. */
function strike({ rows, keys, id }: Trimming, unused: Set<string>, after: Seq): Seq | undefined {
  const range = { from: keys.log(id, after + 1), to: keys.log(id, ENDLESS) };
  const step = rows.scan({ ...range, limit: STEP, characters: STEP_CHARACTERS });
  for (const row of step) {
    if (row.isDamaged) unused.clear();
    if (!row.text.includes(NAMING)) continue;
    for (const { hash } of decode<StoredEvent>(textOf(row.text)).refs) unused.delete(hash);
  }
  return step.at(-1)?.key[4] as Seq | undefined;
}
