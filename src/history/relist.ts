// The list of threads and its search brought to what this version enters: threads that an older one did not list, titles it did not index.

import { systemClock } from '../base/clock.ts';
import type { ThreadId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { enterListed, isEntered } from './catalogue.ts';
import { isListed, wholeMeta } from './catalogue-row.ts';
import { spared } from './checksum.ts';
import { below } from './keys.ts';
import { reviveSync, type Source } from './reader.ts';
import { decode, encodeRow } from './records.ts';
import { noteText } from './search-index.ts';
import { inSlices } from './slices.ts';
import { namesIn } from './threads-in.ts';

/** Between two slices while others work, in ms. */
const PAUSE_MS = 100;
/** Threads that are found before they are entered. */
const FOUND = 200;

/**
 * Looks at every thread of the tenant, a few at a time; rows that are damaged are left to their rebuilding. `changed` is told,
 * inside the transaction, of which threads the row is another. False: aborted. Running it again is harmless.
 */
export async function relist(
  source: Source,
  tenant: string,
  changed: (id: ThreadId) => void,
  signal: AbortSignal,
): Promise<boolean> {
  const { rows } = source;
  const next = () => rows.pace.slice(PAUSE_MS, signal);
  const enterAll = (names: readonly string[]) =>
    inSlices(names, (name) => enter(source, name, changed), { next, write: (slice) => rows.writeAside(slice) });
  let found: string[] = [];
  let end = 0;
  for (const name of namesIn(rows, tenant)) {
    if (systemClock.elapsed() >= end) {
      const ms = await next();
      if (ms === 0) return false;
      end = systemClock.elapsed() + ms;
    }
    if (isMissing(source, name)) found.push(name);
    if (found.length < FOUND) continue;
    await enterAll(found);
    found = [];
  }
  await enterAll(found);
  return !signal.aborted;
}

function isMissing(source: Source, name: string): boolean {
  const meta = rowOf(source, name)?.meta;
  return meta !== undefined && (meta.title !== null || (isListed(meta) && !isEntered(source.rows, source.keys, meta)));
}

/** Inside a transaction. */
function enter(source: Source, name: string, changed: (id: ThreadId) => void): void {
  const { rows, keys } = source;
  const row = rowOf(source, name);
  if (row === undefined) return;
  const { meta, isOther } = row;
  if (isOther) {
    rows.put(keys.meta(meta.id), encodeRow(meta).text);
    changed(meta.id);
  }
  if (isListed(meta) && !isEntered(rows, keys, meta)) enterListed(rows, keys, meta);
  noteText(rows, keys, undefined, meta);
}

/** As it is to be: older rows do not say that something is attached. */
function rowOf(source: Source, name: string): { readonly meta: ThreadMeta; readonly isOther: boolean } | undefined {
  const { rows, keys } = source;
  const meta = spared(() => {
    // One that is being removed, or is not whole yet, has no head.
    const text = rows.get(keys.head(name)) === undefined ? undefined : rows.get(keys.meta(name));
    return text === undefined ? undefined : wholeMeta(reviveSync(source, name, decode<ThreadMeta>(text)));
  });
  if (meta === undefined) return undefined;
  const isOther = !isListed(meta) && rows.scan({ ...below(keys.attachment(meta.id)), limit: 1 }).length > 0;
  return { meta: isOther ? { ...meta, hasAttachments: true } : meta, isOther };
}
