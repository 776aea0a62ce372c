// Who uses a long value: a row at the thread and one at the value, which have to agree before a value is deleted.

import { type Clock, systemClock } from '../base/clock.ts';
import { type Log, silentLog } from '../base/log.ts';
import type { ThreadId } from '../model/ids.ts';
import type { Blobs } from './blobs.ts';
import { below, HIGHEST, type Key, type Keys, keysOf, named } from './keys.ts';
import type { Source } from './reader.ts';
import type { BlobRef } from './records.ts';
import { breathe, inSteps, type Row, type Rows } from './rows.ts';
import { tenantsIn, threadsIn } from './threads-in.ts';

const STEP = 500;

/** Inside a transaction. */
export function useBlobs({ rows, keys }: Pick<Source, 'rows' | 'keys'>, id: ThreadId, refs: readonly BlobRef[]): void {
  for (const { hash } of refs) {
    rows.put(keys.blobUse(id, hash), hash);
    rows.put(keys.blobOwner(hash, id), id);
  }
}

/** `id` may also be the name of a thread in keys. */
export function isUse({ rows, keys }: Pick<Source, 'rows' | 'keys'>, id: ThreadId, hash: string): boolean {
  return hasRow(rows, keys.blobUse(id, hash)) && hasRow(rows, keys.blobOwner(hash, id));
}

/** Whether a thread of any tenant is said to use the value, apart from the one named. */
export function isUsed(rows: Rows, hash: string, but?: { readonly tenant: string; readonly id: ThreadId }): boolean {
  return tenantsIn(rows).some((tenant) => {
    const owners = rows.scan({ ...below(keysOf(tenant).blobOwners(hash)), limit: 2 });
    return owners.some(({ key }) => tenant !== but?.tenant || key.at(-1) !== named(but.id));
  });
}

/** A row, whatever has become of its text: its key says all. */
const hasRow = (rows: Rows, key: Key): boolean => rows.scan({ from: key, to: [...key, 0], limit: 1 }).length > 0;

/** Rows at values to which the thread that they name has no counterpart. Lets other work run meanwhile. */
export async function* foreignOwners(rows: Rows): AsyncGenerator<{ readonly tenant: string; readonly row: Row }> {
  for (const tenant of tenantsIn(rows)) {
    const keys = keysOf(tenant);
    let count = 0;
    for (const row of inSteps(rows, ownersOf(tenant), STEP)) {
      const [hash, name] = row.key.slice(2) as [string, string];
      // Read again: either may have gone since the step began.
      if (!hasRow(rows, keys.blobUse(name, hash)) && hasRow(rows, row.key)) yield { tenant, row };
      count += 1;
      if (count % STEP === 0) await breathe();
    }
  }
}

const ownersOf = (tenant: string) => ({ from: [tenant, 'b'], to: [tenant, 'b', HIGHEST] });

/** Whether each row of the one kind has its counterpart among the others. */
export async function usesAgree(rows: Rows): Promise<boolean> {
  let count = 0;
  for (const { tenant, name } of threadsIn(rows)) {
    if (!usesOwned(rows, keysOf(tenant), name)) return false;
    count += 1;
    if (count % STEP === 0) await breathe();
  }
  for await (const _ of foreignOwners(rows)) return false;
  return true;
}

function usesOwned(rows: Rows, keys: Keys, name: string): boolean {
  for (const { key } of inSteps(rows, below(keys.blobUses(name)), STEP))
    if (!hasRow(rows, keys.blobOwner(key.at(-1) as string, name))) return false;
  return true;
}

/** What has been found to agree is looked at again after so long: a walk over all threads, before something is deleted. */
const LOOK_AGAIN_MS = 600_000;

/**
 * The same files, but none may be deleted unless the rows of uses agreed when that was last asked, and never while they are
 * made anew. What stays though nobody needs it goes with `heddle history compact`, which reads the logs.
 */
export function guarded(
  blobs: Blobs,
  rows: Rows,
  {
    log = silentLog(),
    clock = systemClock,
    isRebuilding = () => false,
  }: {
    log?: Log;
    clock?: Clock;
    isRebuilding?: () => boolean;
  } = {},
): Blobs {
  let looking: Promise<boolean> | undefined;
  let lookedAt = 0;
  let haveAgreed = true;
  const look = async () => {
    lookedAt = clock.elapsed();
    const agree = await usesAgree(rows);
    if (!agree)
      log.warn(
        {},
        'the rows that say which long values are used do not agree: none is deleted before `heddle history compact`',
      );
    return agree;
  };
  return {
    ...blobs,
    mayDrop: async () => {
      if (isRebuilding()) return false;
      if (haveAgreed && clock.elapsed() >= lookedAt + LOOK_AGAIN_MS) looking = undefined;
      looking ??= look().catch((error: unknown) => {
        log.error({ err: error }, 'the rows that say which long values are used cannot be read');
        return false;
      });
      haveAgreed = await looking;
      return haveAgreed;
    },
  };
}
