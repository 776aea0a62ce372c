// Rows that say who uses a long value, missing or wrong: no value that a log names is ever deleted for that.

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sha256 } from '../../../src/base/canonical.ts';
import { silentLog } from '../../../src/base/log.ts';
import { backupHistory } from '../../../src/history/backup.ts';
import { guarded } from '../../../src/history/blob-uses.ts';
import { openBlobs } from '../../../src/history/blobs.ts';
import { compactHistory } from '../../../src/history/compact.ts';
import { keysOf, removalKey, tablesKey } from '../../../src/history/keys.ts';
import { openLmdbHistory } from '../../../src/history/lmdb.ts';
import { LmdbRows } from '../../../src/history/lmdb-rows.ts';
import { blobsDirectory, recordsDirectory } from '../../../src/history/places.ts';
import { openReadOnly } from '../../../src/history/read-only.ts';
import { repairHistory } from '../../../src/history/repair.ts';
import type { ThreadStore } from '../../../src/history/store.ts';
import { verifyHistory } from '../../../src/history/verify.ts';
import { answer, at, itemCompleted, threadMeta, turnCompleted, turnStarted } from '../../harness/history-events.ts';
import { ManualClock } from '../transports/manual-clock.ts';

const LONG = 'a long answer '.repeat(8_000);
const HASH = sha256(LONG);
const log = silentLog();
const keys = keysOf('local');

describe('the rows of uses', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'heddle-uses-'));
    const long = [turnStarted('l'), itemCompleted('l', answer('long', LONG)), turnCompleted('l')];
    await inStore(async (store) => {
      for (const id of ['a', 'b']) await store.create(threadMeta(id), at(5, ...long));
    });
  });
  afterEach(() => rm(directory, { recursive: true }));

  async function inStore<T>(work: (store: ThreadStore) => Promise<T>): Promise<T> {
    const history = await openLmdbHistory({ directory, log });
    try {
      await history.rebuilt;
      return await work(history.forTenant('local'));
    } finally {
      await history.close();
    }
  }
  /** Changes rows behind the back of the store. */
  async function harm(work: (rows: LmdbRows) => void): Promise<void> {
    const rows = new LmdbRows(recordsDirectory(directory));
    await rows.write(() => work(rows));
    await rows.close();
  }
  const filesIn = async (where: string) =>
    (await readdir(blobsDirectory(where), { recursive: true })).filter((name) => name.endsWith(HASH)).length;
  const files = () => filesIn(directory);
  const text = (id: string) => inStore(async (store) => (await store.item(id, 'long'))?.item);
  const verified = async () => (await verifyHistory(directory)).damages;
  const lost = { threadId: 'b', problem: expect.stringContaining(HASH) };

  const FLIPPED = `${HASH.slice(0, -1)}${HASH.endsWith('0') ? '1' : '0'}`;
  const losses: [string, (rows: LmdbRows) => void][] = [
    ['the one at the value is missing', (rows) => rows.remove(keys.blobOwner(HASH, 'b'))],
    ['the one at the thread is missing', (rows) => rows.remove(keys.blobUse('b', HASH))],
    [
      'the one at the value has another key',
      (rows) => {
        rows.remove(keys.blobOwner(HASH, 'b'));
        rows.put(keys.blobOwner(FLIPPED, 'b'), 'b');
      },
    ],
    [
      'the one at the thread has another key',
      (rows) => {
        rows.remove(keys.blobUse('b', HASH));
        rows.put(keys.blobUse('b', FLIPPED), HASH);
      },
    ],
  ];

  it.each(losses)('%s: deleting another thread leaves the value, and compacting puts it right', async (_, work) => {
    await harm(work);
    expect(await verified()).toMatchObject([lost]);
    await inStore((store) => store.remove('a'));
    expect(await files()).toBe(1);
    expect(await compactHistory(directory)).toMatchObject({ blobsRemoved: 0, blobsInDoubt: 0 });
    expect(await text('b')).toMatchObject({ text: LONG });
    expect(await verified()).toEqual([]);
    await inStore((store) => store.remove('b'));
    await compactHistory(directory);
    expect(await files()).toBe(0);
  });

  it('are looked at again when that was long ago', async () => {
    const clock = new ManualClock();
    const rows = new LmdbRows(recordsDirectory(directory));
    const blobs = guarded(openBlobs(blobsDirectory(directory)), rows, { log, clock });
    expect(await blobs.mayDrop()).toBe(true);
    await rows.write(() => rows.remove(keys.blobOwner(HASH, 'b')));
    expect(await blobs.mayDrop()).toBe(true);
    clock.advance(600_000);
    expect(await blobs.mayDrop()).toBe(false);
    // Until it has been put right, which takes another process.
    await rows.write(() => rows.put(keys.blobOwner(HASH, 'b'), 'b'));
    clock.advance(600_000);
    expect(await blobs.mayDrop()).toBe(false);
    await rows.close();
  });

  it('compacting keeps what only the log names, also when it is the last to do so', async () => {
    await inStore((store) => store.remove('a'));
    await harm((rows) => {
      rows.remove(keys.blobOwner(HASH, 'b'));
      rows.remove(keys.blobUse('b', HASH));
    });
    expect(await verified()).toMatchObject([lost]);
    expect(await compactHistory(directory)).toMatchObject({ blobsRemoved: 0, blobsInDoubt: 0 });
    expect(await text('b')).toMatchObject({ text: LONG });
    expect(await verified()).toEqual([]);
  });

  it('compacting keeps what nothing names while a record of a log cannot be read', async () => {
    await inStore((store) => store.remove('a'));
    const rows = new LmdbRows(recordsDirectory(directory));
    const seq = 3;
    const record = rows.get(keys.log('b', seq)) as string;
    await rows.close();
    expect(record).toContain(HASH);
    await harm((rows) => {
      rows.remove(keys.log('b', seq));
      rows.put(keys.log('b', seq), record.replace('"long"', '"lone"').slice(0, -1));
      for (const key of [keys.item('b', seq), keys.blobOwner(HASH, 'b'), keys.blobUse('b', HASH)]) rows.remove(key);
    });
    expect(await compactHistory(directory)).toMatchObject({ blobsRemoved: 0, blobsInDoubt: 1 });
    expect(await files()).toBe(1);
    await harm((rows) => {
      rows.put(keys.log('b', seq), record);
      rows.remove(tablesKey);
    });
    expect(await compactHistory(directory)).toMatchObject({ blobsRemoved: 0, blobsInDoubt: 0 });
    expect(await text('b')).toMatchObject({ text: LONG });
  });

  it('are made anew from the log with the other tables, before which nothing is deleted', async () => {
    await harm((rows) => {
      rows.remove(tablesKey);
      for (const id of ['a', 'b']) {
        rows.remove(keys.blobUse(id, HASH));
        rows.remove(keys.blobOwner(HASH, id));
      }
      rows.put(keys.blobUse('a', HASH), HASH);
      // A removal that was cut off goes on at the start.
      rows.put(removalKey('local', 'a'), JSON.stringify({ tenant: 'local', id: 'a' }));
      rows.remove(keys.head('a'));
    });
    expect(await text('b')).toMatchObject({ text: LONG });
    expect(await verified()).toEqual([]);
    await inStore((store) => store.remove('b'));
    expect(await files()).toBe(0);
  });

  it('are put right by a repair, which a backup of them serves for', async () => {
    const to = join(directory, 'backup');
    await harm((rows) => rows.remove(keys.blobUse('b', HASH)));
    await inStore((store) => store.remove('a'));
    const history = await openReadOnly(directory);
    await backupHistory(history, to);
    await history.close();
    expect(await filesIn(to)).toBe(1);
    await repairHistory(directory, to, log);
    expect(await verified()).toEqual([]);
  });

  it('of a thread that is not there are named, and keep nothing for ever', async () => {
    await inStore(async (store) => {
      await store.remove('a');
      await store.remove('b');
    });
    expect(await files()).toBe(0);
    await inStore((store) => store.create(threadMeta('c'), at(1, itemCompleted('l', answer('long', LONG)))));
    await harm((rows) => rows.put(keys.blobOwner(HASH, 'gone'), 'gone'));
    expect(await verified()).toMatchObject([{ threadId: 'gone', problem: expect.stringContaining(HASH) }]);
    await inStore((store) => store.remove('c'));
    expect(await files()).toBe(1);
    expect(await compactHistory(directory)).toMatchObject({ blobsRemoved: 1 });
    expect(await verified()).toEqual([]);
  });
});
