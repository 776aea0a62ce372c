// Moving, saving and mending a history: exports, backups, repairs and compaction.

import {
  appendFile,
  type FileHandle,
  mkdtemp,
  open as openFile,
  readdir,
  readFile,
  readlink,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { backupHistory } from '../../../src/history/backup.ts';
import { compactHistory } from '../../../src/history/compact.ts';
import { exportThread, readExport } from '../../../src/history/export.ts';
import { importThread } from '../../../src/history/import.ts';
import { formatKey, keysOf } from '../../../src/history/keys.ts';
import { openForImport, openLmdbHistory } from '../../../src/history/lmdb.ts';
import { LmdbRows } from '../../../src/history/lmdb-rows.ts';
import { blobsDirectory, recordsDirectory, recordsFile } from '../../../src/history/places.ts';
import { noteOpening, suspicion } from '../../../src/history/probe.ts';
import { isOfOtherFormat, openReadOnly } from '../../../src/history/read-only.ts';
import { repairHistory, restoreBackup } from '../../../src/history/repair.ts';
import { historyStats } from '../../../src/history/stats.ts';
import type { ThreadStore } from '../../../src/history/store.ts';
import type { RowThreadStore } from '../../../src/history/thread-store.ts';
import { verifyHistory } from '../../../src/history/verify.ts';
import {
  answer,
  asideAsked,
  asideEnded,
  at,
  itemCompleted,
  threadMeta,
  turnCompleted,
  turnStarted,
  wholeTurn,
} from '../../harness/history-events.ts';

const LONG = 'a long answer '.repeat(8_000);
const log = silentLog();

describe('care', () => {
  let directory: string;
  let other: string;
  const open = (where = directory) => openLmdbHistory({ directory: where, log });

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'heddle-care-'));
    other = await mkdtemp(join(tmpdir(), 'heddle-care-'));
    await inStore(async (store) => {
      for (const id of ['t', 'u']) {
        const long = [turnStarted('l'), itemCompleted('l', answer('long', LONG)), turnCompleted('l')];
        await store.create(threadMeta(id), at(5, ...wholeTurn('a'), ...long, ...wholeTurn('b')));
      }
    });
  });
  afterEach(async () => {
    await rm(directory, { recursive: true });
    await rm(other, { recursive: true });
  });

  async function inStore<T>(work: (store: ThreadStore) => Promise<T>, where = directory): Promise<T> {
    const history = await open(where);
    try {
      return await work(history.forTenant('local'));
    } finally {
      await history.close();
    }
  }
  const all = { direction: 'asc', limit: 100 } as const;
  const whole = async (store: ThreadStore, id: string) => ({
    turns: await store.turns(id, all),
    items: await store.items(id, all),
    context: await store.context(id),
    events: (await store.events(id, 0, 100)).slice(1),
  });
  const exported = async (id = 't') => {
    const history = await openReadOnly(directory);
    let text = '';
    for await (const line of exportThread(history, 'local', id)) text += line;
    await history.close();
    const file = join(other, `${id}.jsonl`);
    await writeFile(file, text);
    return { file, text };
  };
  const bringIn = async (file: string, salvages = false) => {
    const { target, close } = await openForImport({ directory, log }, 'local');
    try {
      return await importThread(target, file, { salvages });
    } finally {
      await close();
    }
  };

  it('brings in a question that stood outside of turns, for the next start to end', async () => {
    await inStore((store) =>
      store.create(threadMeta('asked'), at(1, asideAsked('p'), asideEnded('p'), asideAsked('q'))),
    );
    const { threadId } = await bringIn((await exported('asked')).file);
    await inStore(async (store) => {
      expect(await store.openTurns()).toContainEqual({ threadId, turnId: '', seq: 4 });
      expect(await store.meta(threadId)).toMatchObject({ asides: [{ approvalId: 'q', nonce: 'nonce-q' }] });
    });
  });

  it('brings an exported thread in again, under its own id or a new one', async () => {
    const { file } = await exported();
    expect(await readExport(file)).toMatchObject({ threadId: 't', records: 18, damages: [] });
    const { threadId } = await bringIn(file);
    expect(threadId).not.toBe('t');
    await inStore(async (store) => {
      expect(await whole(store, threadId)).toEqual(await whole(store, 't'));
      expect(await store.meta(threadId)).toMatchObject({ id: threadId, turnCount: 3 });
      await store.remove('t');
      expect((await store.item(threadId, 'long'))?.item).toMatchObject({ text: LONG });
    });
    expect((await bringIn(file)).threadId).toBe('t');
    expect(await verifyHistory(directory)).toMatchObject({ threads: 3, damages: [] });
  });

  describe('an export that is damaged', () => {
    it('is known for it when it was cut off anywhere, and loses only what was cut', async () => {
      const { file, text } = await exported('u');
      const bytes = Buffer.from(text);
      const last = bytes.lastIndexOf(10, bytes.length - 2);
      const before = bytes.lastIndexOf(10, last - 1);
      for (let end = before + 1; end < last; end += 7) {
        await writeFile(file, bytes.subarray(0, end));
        const { records, damages } = await readExport(file);
        expect([end, records, damages.length]).toEqual([end, 17, 1]);
      }
      await expect(bringIn(file)).rejects.toMatchObject({ kind: 'unavailable', data: { kind: 'damaged' } });
      const { threadId, records } = await bringIn(file, true);
      expect(records).toBe(17);
      await inStore(async (store) => {
        expect((await store.turns(threadId, all)).rows.map(({ id, status }) => [id, status])).toEqual([
          ['a', 'completed'],
          ['l', 'completed'],
          ['b', 'inProgress'],
        ]);
        const head = (await store.head(threadId)) as number;
        await store.append(threadId, head, at(9, turnCompleted('b')));
      });
      expect(await verifyHistory(directory)).toMatchObject({ damages: [] });
    });

    const lineOf = (text: string, index: number) => text.split('\n')[index] as string;
    it.each<[string, (text: string) => string]>([
      [
        'zeros in the place of a record',
        (text) => text.replace(lineOf(text, 5), '\u0000'.repeat(lineOf(text, 5).length)),
      ],
      [
        'half a record before the whole one',
        (text) => text.replace(lineOf(text, 5), lineOf(text, 5).slice(0, 40) + lineOf(text, 5)),
      ],
      ['a changed bit', (text) => text.replace(lineOf(text, 5), lineOf(text, 5).replace('turnId', 'turnIe'))],
      ['a record that is gone', (text) => text.replace(`${lineOf(text, 5)}\n`, '')],
    ])('loses one record by %s', async (_what, harm) => {
      const { file, text } = await exported();
      await writeFile(file, harm(text));
      const { records, damages } = await readExport(file);
      expect([records, damages.length]).toEqual([17, 1]);
      await expect(bringIn(file)).rejects.toMatchObject({ kind: 'unavailable' });
      expect((await bringIn(file, true)).records).toBe(17);
    });

    it('keeps all records before a mebibyte of NULs', async () => {
      const { file } = await exported();
      await appendFile(file, Buffer.alloc(1024 * 1024));
      const { records, damages } = await readExport(file);
      expect([records, damages.length]).toEqual([18, 1]);
    });
  });

  it('copies a history that is in use, and opens the copy', async () => {
    const to = join(other, 'backup');
    await inStore(async (store) => {
      const history = await openReadOnly(directory);
      const writing = (async () => {
        for (let turn = 0, head = 18; turn < 30; turn += 1)
          head = await store.append('t', head, at(6, ...wholeTurn(`more-${turn}`)));
      })();
      expect(await backupHistory(history, to)).toMatchObject({ threads: 2, blobs: 1 });
      await writing;
      await expect(backupHistory(history, to)).rejects.toMatchObject({ kind: 'invalid' });
      await history.close();
    });
    expect(await verifyHistory(to)).toMatchObject({ threads: 2, damages: [] });
    expect(await inStore(async (store) => (await store.item('u', 'long'))?.item, to)).toMatchObject({ text: LONG });
  });

  it('makes damaged records whole from a backup, and keeps what is newer', async () => {
    const to = join(other, 'backup');
    const history = await openReadOnly(directory);
    await backupHistory(history, to);
    await history.close();
    const before = await inStore(async (store) => {
      await store.append('t', 18, at(7, ...wholeTurn('new')));
      return { t: await whole(store, 't'), u: await whole(store, 'u') };
    });
    const keys = keysOf('local');
    const rows = new LmdbRows(recordsDirectory(directory));
    await rows.write(() => {
      rows.put(keys.log('t', 5), 'x'.repeat(80));
      rows.remove(keys.log('t', 9));
      rows.remove(keys.log('u', 1));
      rows.put(keys.log('t', 20), 'newer than the backup'.repeat(4));
    });
    await rows.close();
    const [folder] = (await readdir(blobsDirectory(directory))).filter((name) => name !== 'unfinished');
    const [blob] = await readdir(join(blobsDirectory(directory), folder as string));
    await writeFile(join(blobsDirectory(directory), folder as string, blob as string), 'rotten');
    expect((await verifyHistory(directory)).damages).toHaveLength(2);
    const { repaired, lost } = await repairHistory(directory, to, log);
    expect([repaired, lost]).toEqual([4, [{ threadId: 't', seq: 20 }]]);
    const after = await inStore(async (store) => ({ t: await whole(store, 't'), u: await whole(store, 'u') }));
    expect(after.u).toEqual(before.u);
    expect(after.t.events.filter(({ seq }) => seq !== 20)).toEqual(before.t.events.filter(({ seq }) => seq !== 20));
  });

  it('refuses a file that is no database, with its path and what to do, and takes the backup in its place', async () => {
    const to = join(other, 'backup');
    const history = await openReadOnly(directory);
    await backupHistory(history, to);
    await history.close();
    await writeFile(recordsFile(directory), 'this is no database'.repeat(1000));
    await expect(open()).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/data\.mdb.*repair --from/),
      data: { path: recordsFile(directory) },
    });
    const aside = await restoreBackup(directory, to);
    expect(await readFile(join(aside as string, 'data.mdb'), 'utf8')).toMatch(/^this is no database/);
    expect(await verifyHistory(directory)).toMatchObject({ threads: 2, damages: [] });
  });

  it.skipIf(process.platform !== 'linux')('has on disk what takes the place of a history before it does', async () => {
    const to = join(other, 'backup');
    const history = await openReadOnly(directory);
    await backupHistory(history, to);
    await history.close();
    const file = await openFile(recordsFile(to));
    const prototype = Object.getPrototypeOf(file) as FileHandle;
    await file.close();
    const { sync } = prototype;
    const synced: string[] = [];
    const spy = vi.spyOn(prototype, 'sync').mockImplementation(async function (this: FileHandle) {
      synced.push(relative(directory, await readlink(`/proc/self/fd/${this.fd}`)));
      await sync.call(this);
    });
    try {
      await restoreBackup(directory, to);
    } finally {
      spy.mockRestore();
    }
    expect(synced).toContain('history.restored/data.mdb');
    expect(synced.filter((path) => path.startsWith('history.restored/blobs/')).length).toBeGreaterThanOrEqual(2);
    expect(synced.slice(-2)).toEqual(['history.restored', '']);
  });

  it('gives space back, and leaves nothing of a thread that was deleted', async () => {
    await inStore(async (store) => {
      const secret = `SECRET-${'word '.repeat(400)}`;
      const item = itemCompleted('s', answer('s', secret.repeat(20)));
      for (let index = 0; index < 40; index += 1)
        await store.create(
          threadMeta(`s${index}`),
          at(1, turnStarted('s', secret), itemCompleted('s', answer('x', secret)), item),
        );
      await (store as RowThreadStore).upkeep.indexed();
      for (let index = 0; index < 40; index += 1) await store.remove(`s${index}`);
    });
    const history = await openReadOnly(directory);
    const { freeBytes, tenants } = await historyStats(history);
    await history.close();
    expect(tenants).toMatchObject([{ tenant: 'local', threads: 2, turns: 6 }]);
    expect(freeBytes).toBeGreaterThan(100_000);
    const { before, after } = await compactHistory(directory);
    expect(after).toBeLessThan(before / 2);
    for (const entry of await readdir(directory, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) {
        const content = (await readFile(join(entry.parentPath, entry.name))).toString('latin1');
        expect([entry.name, /SECRET|secret-|[Ss]EC/.test(content)]).toEqual([entry.name, false]);
      }
    expect(await verifyHistory(directory)).toMatchObject({ threads: 2, damages: [] });
    await inStore(async (store) => expect((await store.item('t', 'long'))?.item).toMatchObject({ text: LONG }));
  });

  it('refuses to compact or to repair what another version wrote', async () => {
    const to = join(other, 'backup');
    const history = await openReadOnly(directory);
    await backupHistory(history, to);
    await history.close();
    for (const [version, kind] of [
      ['9', 'newer_format'],
      ['1', 'older_format'],
    ] as const) {
      const rows = new LmdbRows(recordsDirectory(directory));
      await rows.write(() => rows.put(formatKey, version));
      await rows.close();
      const before = await readFile(recordsFile(directory));
      await expect(compactHistory(directory)).rejects.toMatchObject({ data: { kind } });
      await expect(repairHistory(directory, to, log)).rejects.toMatchObject({ data: { kind } });
      const refusal = await openReadOnly(directory).catch((error: Error) => error.message);
      expect(isOfOtherFormat(refusal as string), refusal as string).toBe(true);
      expect(before.equals(await readFile(recordsFile(directory)))).toBe(true);
      expect(await readdir(recordsDirectory(directory))).not.toContain('renewal');
    }
  });

  it('says which record keeps a thread from being exported, and what to do', async () => {
    const rows = new LmdbRows(recordsDirectory(directory));
    const whole = rows.get(keysOf('local').log('t', 5)) as string;
    await rows.write(() => rows.put(keysOf('local').log('t', 5), whole.replace('context', 'kontext')));
    await rows.close();
    await expect(exported()).rejects.toThrow(/thread t is damaged at record 5 .*verify.*repair --from BACKUP/s);
    const [folder] = (await readdir(blobsDirectory(directory))).filter((name) => name !== 'unfinished');
    await rm(join(blobsDirectory(directory), folder as string), { recursive: true });
    await expect(exported('u')).rejects.toThrow(
      /thread u is damaged at record \d+ \(its long value [0-9a-f]{64} is missing/,
    );
  });

  it('knows whether a history was closed, and a loop of crashes', async () => {
    expect(suspicion(directory, 0)).toBe('none');
    const history = await open();
    expect(suspicion(directory, Date.now())).toBe('quick');
    await history.close();
    expect(suspicion(directory, Date.now())).toBe('none');
    for (const nowMs of [1000, 2000, 3000]) noteOpening(directory, nowMs);
    expect(suspicion(directory, 4000)).toBe('whole');
    expect(suspicion(directory, 1_000_000)).toBe('quick');
  });
});
