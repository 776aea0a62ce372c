// Removing a thread: hidden at once, then its rows in chunks, so that a long history holds nobody up; continued at the next start.

import type { ThreadId } from '../model/ids.ts';
import type { ThreadMeta } from '../model/thread.ts';
import { isUsed } from './blob-uses.ts';
import { moveListed } from './catalogue.ts';
import { below, type Key, named, removalKey } from './keys.ts';
import type { Source } from './reader.ts';
import { breathe, type Row } from './rows.ts';
import { indexedKeys } from './search-index.ts';
import { forgetWords } from './word-index.ts';

/** Rows removed by one transaction. */
const CHUNK = 500;

export interface Removal extends Source {
  readonly tenant: string;
  readonly id: ThreadId;
}

/** Inside a transaction: from now on there is no such thread, whatever is left of its rows. */
export function hideThread({ rows, keys, tenant, id }: Removal, meta: ThreadMeta): void {
  rows.put(removalKey(tenant, id), JSON.stringify({ tenant, id }));
  moveListed(rows, keys, meta, undefined);
  rows.remove(keys.meta(id));
  rows.remove(keys.head(id));
  rows.remove(keys.due(id));
  for (const turns of [keys.openTurnsOf(id), keys.spent(id)])
    for (const { key } of rows.scan({ ...below(turns), limit: Number.POSITIVE_INFINITY })) rows.remove(key);
}

/** Resolves when nothing of the thread is left. Running it again is harmless. */
export async function removeRows(removal: Removal): Promise<void> {
  const { rows, keys, tenant, id } = removal;
  await forgetWords(removal, id);
  for (;;) {
    const chunk = rows.scan({ ...below(keys.thread(id)), limit: CHUNK });
    if (chunk.length === 0) break;
    const hashes = blobsOf(removal, chunk);
    // Before the rows that name them: what is cut off here is done again.
    if (hashes.length > 0 && (await removal.blobs.mayDrop()))
      for (const hash of hashes) removal.blobs.drop(hash, () => isUsed(rows, hash, { tenant, id }));
    await rows.writePart(() => {
      for (const row of chunk) {
        for (const key of pointedAt(removal, row)) rows.remove(key);
        rows.remove(row.key);
      }
    });
    await breathe();
  }
  await rows.write(() => rows.remove(removalKey(tenant, id)));
}

const blobsOf = ({ keys, id }: Removal, chunk: readonly Row[]): string[] =>
  chunk.filter(({ key }) => startsWith(key, keys.blobUses(id))).map(({ key }) => key.at(-1) as string);

/** Rows elsewhere that exist because of this one. */
function pointedAt({ keys, id, tenant }: Removal, { key, text, isDamaged }: Row): Key[] {
  if (startsWith(key, keys.blobUses(id))) return [keys.blobOwner(key.at(-1) as string, id)];
  if (startsWith(key, keys.attachmentSeqs(id))) return [[tenant, 'attached', ...key.slice(-2), named(id)]];
  if (startsWith(key, keys.searched(id))) return isDamaged ? [] : indexedKeys(keys, text);
  if (!startsWith(key, keys.onceUses(id))) return [];
  const [method, once] = key.slice(-2);
  return [[tenant, 'k', method as string, once as string]];
}

const startsWith = (key: Key, prefix: Key): boolean => prefix.every((element, index) => key[index] === element);
