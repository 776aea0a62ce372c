// The durable history across restarts, damage, newer formats and a disk that refuses.

import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { formatKey, type Key, keysOf, removalKey } from '../../../src/history/keys.ts';
import { openLmdbHistory } from '../../../src/history/lmdb.ts';
import { LmdbRows } from '../../../src/history/lmdb-rows.ts';
import { blobsDirectory, recordsDirectory } from '../../../src/history/places.ts';
import type { Rows } from '../../../src/history/rows.ts';
import { verifyHistory } from '../../../src/history/verify.ts';
import {
  answer,
  at,
  delta,
  itemCompleted,
  threadMeta,
  turnCompleted,
  turnStarted,
  wholeTurn,
} from '../../harness/history-events.ts';

const LONG = 'long '.repeat(20_000);

describe('the durable history', () => {
  let directory: string;
  const open = () => openLmdbHistory({ directory, log: silentLog() });

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'heddle-lmdb-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const withRows = async (work: (rows: Rows) => void) => {
    const rows = new LmdbRows(recordsDirectory(directory));
    await rows.write(() => work(rows));
    await rows.close();
  };
  const blobFiles = async () => {
    const entries = await readdir(blobsDirectory(directory), { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  };
  const fill = async (...ids: string[]) => {
    const history = await open();
    const store = history.forTenant('local');
    for (const id of ids)
      await store.create(
        threadMeta(id),
        at(
          1,
          ...wholeTurn('u'),
          turnStarted('open'),
          itemCompleted('open', answer('l', LONG)),
          delta('open', 'i', 'x'),
        ),
      );
    await history.close();
  };

  it('keeps everything when it is opened again', async () => {
    await fill('t');
    const history = await open();
    const store = history.forTenant('local');
    expect(await store.head('t')).toBe(11);
    expect((await store.meta('t'))?.turnCount).toBe(2);
    expect(await store.openTurns()).toEqual([{ threadId: 't', turnId: 'open', seq: 9 }]);
    expect((await store.events('t', 10, 5))[0]?.event).toEqual(delta('open', 'i', 'x'));
    expect((await store.item('t', 'l'))?.item).toMatchObject({ text: LONG });
    expect(await store.append('t', 11, at(2, turnCompleted('open')))).toBe(12);
    await history.close();
    expect(await verifyHistory(directory)).toEqual({ threads: 1, records: 11, damages: [] });
  });

  it('tells those whom nobody waits for of all writes but their own', async () => {
    const rows = new LmdbRows(recordsDirectory(directory));
    const told = vi.spyOn(rows.pace, 'noteOthers');
    await rows.writeAside(() => rows.put(['x'], '1'));
    expect(rows.get(['x'])).toBe('1');
    expect(told).not.toHaveBeenCalled();
    await rows.write(() => rows.put(['x'], '2'));
    expect(told).toHaveBeenCalledTimes(2);
    await rows.close();
  });

  it('closes in the midst of appends: each is stored or refused', async () => {
    const history = await open();
    const store = history.forTenant('local');
    const acknowledged = new Map<string, number>();
    const append = async (id: string) => {
      acknowledged.set(id, await store.create(threadMeta(id), []));
      for (let turn = 0; ; turn += 1)
        acknowledged.set(id, await store.append(id, acknowledged.get(id) as number, at(1, ...wholeTurn(`u${turn}`))));
    };
    const first = store.create(threadMeta('first'), []);
    const writers = ['a', 'b', 'c'].map((id) => append(id));
    await first;
    await store.create(threadMeta('second'), []);
    await history.close();
    for (const { status, reason } of (await Promise.allSettled(writers)) as PromiseRejectedResult[])
      expect([status, reason.kind]).toEqual(['rejected', 'unavailable']);
    const again = await open();
    for (const [id, head] of acknowledged) expect(await again.forTenant('local').head(id)).toBe(head);
    await again.close();
    expect(await verifyHistory(directory)).toMatchObject({ threads: 5, damages: [] });
  });

  it('is private to its user', async () => {
    await fill('t');
    expect((await stat(recordsDirectory(directory))).mode & 0o777).toBe(0o700);
    for (const file of await blobFiles()) expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('refuses what a newer program wrote, untouched, and says what to do', async () => {
    await fill('t');
    await withRows((rows) => rows.put(formatKey, '3'));
    await expect(open()).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/newer version/),
    });
    await expect(verifyHistory(directory)).rejects.toMatchObject({ kind: 'unavailable' });
    await withRows((rows) => rows.put(formatKey, '2'));
    await (await open()).close();
  });

  it('finishes a removal that was cut off', async () => {
    await fill('t', 'other');
    const keys = keysOf('local');
    await withRows((rows) => {
      rows.put(removalKey('local', 't'), JSON.stringify({ tenant: 'local', id: 't' }));
      rows.remove(keys.head('t'));
      rows.remove(keys.meta('t'));
    });
    const history = await open();
    const store = history.forTenant('local');
    expect(await store.create(threadMeta('t'), [])).toBe(1);
    expect((await store.turns('t', { direction: 'asc', limit: 9 })).rows).toEqual([]);
    expect((await store.item('other', 'l'))?.item).toMatchObject({ text: LONG });
    await history.close();
  });

  describe('long values', () => {
    it('are stored once, and go with the last thread that has them', async () => {
      await fill('a', 'b');
      expect(await blobFiles()).toHaveLength(1);
      const history = await open();
      const store = history.forTenant('local');
      await store.remove('a');
      expect((await store.item('b', 'l'))?.item).toMatchObject({ text: LONG });
      await store.remove('b');
      expect(await blobFiles()).toEqual([]);
      await store.create(threadMeta('c'), at(1, turnStarted('u'), itemCompleted('u', answer('l', LONG))));
      expect((await store.item('c', 'l'))?.item).toMatchObject({ text: LONG });
      await history.close();
    });

    it('survive the removal of another thread while they are being written', async () => {
      await fill('a');
      const history = await open();
      const store = history.forTenant('local');
      const events = at(1, turnStarted('u'), itemCompleted('u', answer('l', LONG)));
      await Promise.all([store.create(threadMeta('b'), events), store.remove('a')]);
      expect((await store.item('b', 'l'))?.item).toMatchObject({ text: LONG });
      await history.close();
    });

    it.each([
      ['damaged', (file: string) => writeFile(file, LONG.replace('long', 'lost'))],
      ['missing', (file: string) => rm(file)],
    ])('that are %s damage their record only', async (_what, harm) => {
      await fill('t');
      for (const file of await blobFiles()) await harm(file);
      expect(await verifyHistory(directory)).toMatchObject({ damages: [{ threadId: 't', seq: 10 }] });
      const history = await open();
      const store = history.forTenant('local');
      expect((await store.item('t', 'l'))?.item).toMatchObject({ text: expect.stringMatching(/bytes are missing/) });
      expect(await store.events('t', 0, 100)).toHaveLength(11);
      // The same content comes again: it is whole again.
      await store.append('t', 11, at(2, itemCompleted('open', answer('m', LONG))));
      expect((await store.item('t', 'l'))?.item).toMatchObject({ text: LONG });
      await history.close();
      expect(await verifyHistory(directory)).toMatchObject({ damages: [] });
    });

    it('that were half written are cleared away', async () => {
      await fill('t');
      await writeFile(join(blobsDirectory(directory), 'unfinished', 'x'), 'half');
      await (await open()).close();
      expect(await blobFiles()).toHaveLength(1);
    });
  });

  describe('verification', () => {
    const keys = keysOf('local');
    const edit = (rows: Rows, key: Key, change: (text: string) => string) =>
      rows.put(key, change(rows.get(key) as string));
    const damages: [string, number, (rows: Rows) => void][] = [
      ['a changed record', 4, (rows) => edit(rows, keys.log('t', 4), (text) => text.replace('hello', 'hullo'))],
      ['a changed link', 4, (rows) => edit(rows, keys.log('t', 4), (text) => `A${text.slice(1)}`)],
      ['a record that is no JSON', 4, (rows) => edit(rows, keys.log('t', 4), (text) => text.slice(0, -1))],
      ['a missing record', 5, (rows) => rows.remove(keys.log('t', 4))],
      ['a missing beginning', 2, (rows) => rows.remove(keys.log('t', 1))],
      ['a missing end', 10, (rows) => rows.remove(keys.log('t', 10))],
      ['a record in another place', 11, (rows) => rows.put(keys.log('t', 11), rows.get(keys.log('t', 10)) as string)],
      ['the log of another thread', 1, (rows) => rows.put(keys.log('t', 1), rows.get(keys.log('b', 1)) as string)],
    ];
    it.each(damages)('finds %s, and the other threads whole', async (_what, seq, harm) => {
      await fill('a', 'b', 't', 'z');
      await withRows(harm);
      const found = await verifyHistory(directory);
      expect(found.threads).toBe(4);
      expect(found.damages).toEqual([{ tenant: 'local', threadId: 't', seq, problem: expect.any(String) }]);
      expect((await verifyHistory(directory, { threadId: 'a' })).damages).toEqual([]);
      expect((await verifyHistory(directory, { threadId: 't' })).damages).toHaveLength(1);
    });

    it('visits every tenant, works beside a running server, and says when there is nothing', async () => {
      await expect(verifyHistory(directory)).rejects.toMatchObject({ kind: 'notFound' });
      await fill('t');
      const history = await open();
      for (const tenant of ['a', 'a!', 'zz']) {
        const store = history.forTenant(tenant);
        await store.create(threadMeta(`${tenant}-1`), at(1, ...wholeTurn('u')));
        await store.create(threadMeta('ид'), at(1, ...wholeTurn('u')));
      }
      expect(await verifyHistory(directory)).toEqual({ threads: 7, records: 6 * 8 + 10, damages: [] });
      await expect(verifyHistory(directory, { threadId: 'none' })).rejects.toMatchObject({ kind: 'notFound' });
      await history.close();
    });

    it('changes nothing', async () => {
      await fill('t');
      const before = await readFile(join(recordsDirectory(directory), 'data.mdb'));
      await verifyHistory(directory);
      expect((await readFile(join(recordsDirectory(directory), 'data.mdb'))).equals(before)).toBe(true);
    });
  });

  it('gives a warning in the place of a record that cannot be read, and all others', async () => {
    await fill('t');
    await withRows((rows) => rows.put(keysOf('local').log('t', 4), 'nonsense'));
    const history = await open();
    const events = await history.forTenant('local').events('t', 2, 3);
    expect(events.map(({ seq, event }) => [seq, event.type])).toEqual([
      [3, 'itemStarted'],
      [4, 'warned'],
      [5, 'contextAdded'],
    ]);
    await history.close();
  });

  it.skipIf(process.platform === 'win32')('rejects what a full disk refuses, and goes on', async () => {
    const program = fileURLToPath(new URL('full-disk-child.mts', import.meta.url));
    // A limit on the size of files refuses writes as a full disk does.
    const script = 'trap "" XFSZ; ulimit -f 600; exec "$0" --import tsx "$1" "$2"';
    const { stdout } = await promisify(execFile)('bash', ['-c', script, process.execPath, program, directory]);
    const said = JSON.parse(stdout) as { kind: string; refusedAt: number; head: number; unhandled: number };
    expect(said).toMatchObject({ kind: 'unavailable', head: said.refusedAt, unhandled: 0 });
    const history = await open();
    const store = history.forTenant('local');
    expect(await store.head('t')).toBe(said.head);
    expect(await store.append('t', said.head, at(1, turnCompleted('u')))).toBe(said.head + 1);
    await history.close();
    expect((await verifyHistory(directory)).damages).toEqual([]);
  });
});
