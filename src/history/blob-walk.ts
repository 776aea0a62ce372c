// What all logs and tables name: the rows of uses brought into line with it, and the files that nobody needs found.

import { foreignOwners, isUse, useBlobs } from './blob-uses.ts';
import { textOf } from './chain.ts';
import { below, type Key, keysOf } from './keys.ts';
import { type BlobRef, decode } from './records.ts';
import { breathe, type Row, type Rows } from './rows.ts';
import { threadsIn } from './threads-in.ts';

const STEP = 500;
const STEP_CHARACTERS = 4 * 1024 * 1024;

const NAMING = '"blobs":[';

export interface Named {
  /** Hashes of the long values that a record or a row of a table names. */
  readonly hashes: ReadonlySet<string>;
  /** A record of a log cannot be read, and may name more. */
  readonly isDoubtful: boolean;
}

/** Reads everything, and writes the rows of uses that are missing. Nothing is removed. */
export async function walkNamed(rows: Rows): Promise<Named> {
  const hashes = new Set<string>();
  let isDoubtful = false;
  for (const { tenant, name } of threadsIn(rows)) {
    const keys = keysOf(tenant);
    let { from, to } = below(keys.thread(name));
    for (;;) {
      const step = rows.scan({ from, to, limit: STEP, characters: STEP_CHARACTERS });
      const last = step.at(-1);
      if (last === undefined) break;
      const unsaid: BlobRef[] = [];
      for (const row of step) {
        const refs = refsOf(row);
        if (refs === undefined) isDoubtful ||= isOfLog(row.key);
        for (const ref of refs ?? []) {
          hashes.add(ref.hash);
          if (isOfLog(row.key) && !isUse({ rows, keys }, name, ref.hash)) unsaid.push(ref);
        }
      }
      if (unsaid.length > 0) await rows.write(() => useBlobs({ rows, keys }, name, unsaid));
      from = [...last.key, 0];
      await breathe();
    }
  }
  return { hashes, isDoubtful };
}

/** Takes away rows at values to which no thread has a counterpart. Only for logs of which every record was read. */
export async function removeForeignOwners(rows: Rows): Promise<void> {
  const foreign: Key[] = [];
  for await (const { row } of foreignOwners(rows)) foreign.push(row.key);
  if (foreign.length === 0) return;
  await rows.write(() => {
    for (const key of foreign) rows.remove(key);
  });
}

const isOfLog = (key: Key): boolean => key[3] === 'l';

/** Undefined: it cannot be read. */
function refsOf({ key, text, isDamaged }: Row): readonly BlobRef[] | undefined {
  if (isDamaged) return undefined;
  if (!text.includes(NAMING)) return [];
  try {
    return decode(isOfLog(key) ? textOf(text) : text).refs;
  } catch {
    return undefined;
  }
}
