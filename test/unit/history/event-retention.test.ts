// Old events go as the operator says, and nothing that is shown goes with them.

import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open as openDatabase } from 'lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { deferred } from '../../../src/base/signals.ts';
import { backupHistory } from '../../../src/history/backup.ts';
import { openBlobs } from '../../../src/history/blobs.ts';
import { compactHistory } from '../../../src/history/compact.ts';
import { exportThread, readExport } from '../../../src/history/export.ts';
import { importThread } from '../../../src/history/import.ts';
import { keysOf, tablesKey } from '../../../src/history/keys.ts';
import { openForImport, openLmdbHistory } from '../../../src/history/lmdb.ts';
import { LmdbRows } from '../../../src/history/lmdb-rows.ts';
import { blobsDirectory, recordsDirectory, recordsFile } from '../../../src/history/places.ts';
import { openReadOnly } from '../../../src/history/read-only.ts';
import { repairHistory } from '../../../src/history/repair.ts';
import type { Retention } from '../../../src/history/retention.ts';
import type { ThreadStore } from '../../../src/history/store.ts';
import { trimThread } from '../../../src/history/trim.ts';
import { verifyHistory } from '../../../src/history/verify.ts';
import type { ThreadEvent } from '../../../src/model/event.ts';
import {
  answer,
  at,
  contextAdded,
  itemCompleted,
  itemStarted,
  question,
  settings,
  threadMeta,
  turnCompleted,
  turnStarted,
} from '../../harness/history-events.ts';

const DAY = 86_400_000;
const NOW = 100 * DAY;
const OLD = NOW - 60 * DAY;
const NEW = NOW - 10 * DAY;
const NOTHING: Retention = { archivedMs: null, archivedCharacters: null, eventsMs: null, eventsCharacters: null };
const AGE: Retention = { ...NOTHING, eventsMs: 30 * DAY };
const log = silentLog();
const keys = keysOf('local');
const all = { direction: 'asc', limit: 1000 } as const;

const warned = (words: string): ThreadEvent => ({ type: 'warned', turnId: null, message: words });
const changed = (model: string): ThreadEvent => ({ type: 'settingsChanged', settings: settings({ model }) });
const attached = (key: string, payload: string): ThreadEvent => ({
  type: 'attachmentAdded',
  attachment: { id: `${key}-${payload}`, attachmentType: 'note', identityKey: key, payload } as never,
});

/** A turn with a long question and an answer that ends twice. */
function turn(id: string, words = 'word '.repeat(200)): ThreadEvent[] {
  return [
    turnStarted(id),
    itemStarted(id, question(`${id}-q`, words)),
    itemCompleted(id, question(`${id}-q`, words)),
    contextAdded(id, `context of ${id}`),
    itemStarted(id, answer(`${id}-a`)),
    itemCompleted(id, answer(`${id}-a`, `draft of ${id} ${words}`)),
    warned(`something about ${id}`),
    itemCompleted(id, answer(`${id}-a`, `answer of ${id}`)),
    turnCompleted(id, { lastMessageId: `${id}-a` }),
  ];
}

const LOST = 'taken back '.repeat(10_000);
const SHOWN = 'stays shown '.repeat(10_000);

describe('events', () => {
  let directory: string;
  let before: Awaited<ReturnType<typeof shownOf>>;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'heddle-events-'));
    await inStore(async (store) => {
      const old = [
        changed('m1'),
        changed('m2'),
        attached('k', 'first'),
        attached('k', 'second'),
        ...turn('a', SHOWN),
        ...turn('r', LOST),
        { type: 'turnsReverted', firstTurnId: 'r', turnIds: ['r'] } as ThreadEvent,
        ...Array.from({ length: 500 }, (_, index) => warned(`warning ${index}`)),
        ...turn('b'),
        changed('m3'),
        { type: 'threadNamed', name: 'a name' } as ThreadEvent,
      ];
      const head = await store.create(threadMeta('t', { createdAtMs: OLD }), at(OLD, ...old));
      await store.append('t', head, at(NEW, ...turn('c')));
      const open = [turnStarted('open'), itemStarted('open', answer('open-a')), warned('while it ran')];
      await store.create(threadMeta('u', { createdAtMs: OLD }), at(OLD, ...turn('x'), ...open));
      before = await shownOf(store, 't');
    });
  });
  afterEach(() => rm(directory, { recursive: true }));

  async function inStore<T>(work: (store: ThreadStore) => Promise<T>, where = directory): Promise<T> {
    const history = await openLmdbHistory({ directory: where, log });
    try {
      await history.rebuilt;
      return await work(history.forTenant('local'));
    } finally {
      await history.close();
    }
  }

  /** One round of the retention. */
  async function keep(retention: Retention, inUse: string[] = []): Promise<void> {
    const round = deferred<void>();
    let work: (() => void) | undefined;
    const timer = (_ms: number, next: () => void) => {
      if (work !== undefined) round.resolve();
      work = next;
      return () => {};
    };
    const isInUse = (_tenant: string, id: string) => inUse.includes(id);
    const clock = { ...systemClock, now: () => NOW, timer };
    const history = await openLmdbHistory({ directory, log, clock, retention: () => retention, isInUse });
    work?.();
    await round.promise;
    await history.close();
  }

  /** Everything about a thread that is shown or that a model gets. */
  async function shownOf(store: ThreadStore, id: string) {
    const { id: _, createdAtMs: __, ...meta } = (await store.meta(id))!;
    return {
      meta,
      turns: await store.turns(id, all),
      items: await store.items(id, all),
      context: await store.context(id),
      attachments: await store.attachments.page(id, 10),
    };
  }

  const recordsOf = async (id: string) => (await verifyHistory(directory, { threadId: id })).records;
  const damagesIn = async (where = directory) => (await verifyHistory(where)).damages;
  const longValues = async () =>
    (await readdir(blobsDirectory(directory), { recursive: true })).filter((name) => /[0-9a-f]{64}$/.test(name)).length;

  const stale = (store: ThreadStore, after: number, id = 't') =>
    store.events(id, after, 1000).then(
      () => undefined,
      (error: { data: object }) => error.data,
    );

  /** What must hold of a trimmed thread, wherever it lies. */
  async function expectWhole(where = directory, id = 't'): Promise<void> {
    expect(await damagesIn(where)).toEqual([]);
    await inStore(async (store) => {
      expect(await shownOf(store, id)).toEqual(before);
      expect((await store.item(id, 'a-q'))?.item).toEqual(question('a-q', SHOWN));
      const oldest = await store.oldest(id);
      expect(oldest).toBeGreaterThan(0);
      const headSeq = (await store.head(id))!;
      expect(await stale(store, oldest - 1, id)).toEqual({
        kind: 'stale_cursor',
        threadId: id,
        oldestSeq: oldest,
        headSeq,
      });
      expect(await stale(store, oldest, id)).toBeUndefined();
      expect(await stale(store, headSeq, id)).toBeUndefined();
    }, where);
  }

  it('all stay unless it is said otherwise', async () => {
    const records = await recordsOf('t');
    await keep(NOTHING);
    expect(await recordsOf('t')).toBe(records);
    await inStore(async (store) => {
      expect(await store.oldest('t')).toBe(0);
      expect(await stale(store, 0)).toBeUndefined();
      expect(await shownOf(store, 't')).toEqual(before);
    });
  });

  it('that are too old go, but for what turns, items and context follow from', async () => {
    const records = await recordsOf('t');
    const values = await longValues();
    await keep(AGE);
    expect(await recordsOf('t')).toBeLessThan(records - 500);
    // What was taken back: the question and the draft of the answer; what is shown: the draft of an answer.
    expect(await longValues()).toBe(values - 3);
    await expectWhole();
    await compactHistory(directory);
    const content = await readFile(recordsFile(directory), 'latin1');
    expect(content).toContain('answer of a');
    for (const words of ['warning 250', 'draft of b', 'taken back']) expect(content).not.toContain(words);
    await inStore(async (store) => {
      const oldest = await store.oldest('t');
      const left = await store.events('t', oldest, 100);
      expect(left.map(({ event }) => event)).toEqual(turn('c'));
      expect(left[0]?.seq).toBe(oldest + 1);
      await store.append('t', (await store.head('t'))!, at(NOW, ...turn('d')));
    });
    expect(await damagesIn()).toEqual([]);
  });

  it('of a turn that is open, or of a thread that is in use, stay', async () => {
    const records = await recordsOf('t');
    await keep(AGE, ['t']);
    expect(await recordsOf('t')).toBe(records);
    await inStore(async (store) => {
      expect(await store.oldest('t')).toBe(0);
      const oldest = await store.oldest('u');
      expect((await store.events('u', oldest, 10)).map(({ event }) => event.type)).toEqual([
        'turnStarted',
        'itemStarted',
        'warned',
      ]);
    });
  });

  it('are kept whole up to a size, the newest of each thread', async () => {
    await keep({ ...NOTHING, eventsCharacters: 60_000 });
    await expectWhole();
    const size = await inStore(async (store) => {
      const left = await store.events('t', await store.oldest('t'), 1000);
      return JSON.stringify(left).length;
    });
    expect(size).toBeGreaterThan(20_000);
    expect(size).toBeLessThan(60_000);
    await keep({ ...NOTHING, eventsCharacters: 1 });
    await expectWhole();
    await inStore(async (store) => expect(await store.oldest('t')).toBe(await store.head('t')));
  });

  it('that went are not needed to make the tables anew, not even for the place from which on all is there', async () => {
    await keep(AGE);
    const oldest = await inStore((store) => store.oldest('t'));
    const rows = new LmdbRows(recordsDirectory(directory));
    await rows.write(() => {
      rows.remove(tablesKey);
      rows.remove(keys.floor('t'));
      rows.remove(keys.meta('t'));
      rows.remove(keys.head('t'));
      for (const letter of ['u', 'v', 'i', 'j', 'c', 'a', 'e'])
        for (const { key } of rows.scan({
          from: [...keys.thread('t'), letter],
          to: [...keys.thread('t'), letter, '\uffff'],
          limit: 1e6,
        }))
          rows.remove(key);
    });
    await rows.close();
    await inStore(async (store) => expect(await shownOf(store, 't')).toEqual(before));
    await expectWhole();
    const again = await inStore((store) => store.oldest('t'));
    expect(again).toBeLessThanOrEqual(oldest);
    expect(again).toBeGreaterThan(oldest - 5);
  });

  it('that went are missing in an export, which says so and can be taken in', async () => {
    await keep(AGE);
    const file = join(directory, 'export.jsonl');
    const history = await openReadOnly(directory);
    const lines: string[] = [];
    for await (const line of exportThread(history, 'local', 't')) lines.push(line);
    await history.close();
    await writeFile(file, lines.join(''));
    expect(await readExport(file)).toMatchObject({ damages: [], threadId: 't' });
    const gap = lines.findIndex((line) => line.startsWith('{"kind":"gap"'));
    const without = (index: number) => writeFile(`${file}.damaged`, lines.toSpliced(index, 1).join(''));
    for (const index of [gap, gap - 1, gap + 1]) {
      await without(index);
      expect((await readExport(`${file}.damaged`)).damages.length).toBeGreaterThan(0);
    }
    // No link tells of these: the numbers themselves have to fit.
    const whole = JSON.parse(lines[gap]!);
    const places = [{ seq: whole.seq + 1, turnId: 'a', itemId: 'i', type: 'agentMessage' }];
    const misfits = [
      { seq: 1 },
      { seq: whole.seq + 1_000 },
      { seq: 'x' },
      { link: null },
      { gap: { ...whole.gap, places } },
    ];
    for (const misfit of [...misfits, { gap: { ...whole.gap, first: whole.seq + 1 } }]) {
      await writeFile(`${file}.damaged`, lines.with(gap, `${JSON.stringify({ ...whole, ...misfit })}\n`).join(''));
      expect((await readExport(`${file}.damaged`)).damages, JSON.stringify(misfit)).not.toEqual([]);
    }
    const other = await mkdtemp(join(tmpdir(), 'heddle-events-'));
    for (const where of [other, directory]) {
      const opened = await openForImport({ directory: where, log }, 'local');
      const { threadId } = await importThread(opened.target, file, { salvages: false });
      await opened.close();
      expect(threadId === 't').toBe(where === other);
      await expectWhole(where, threadId);
    }
    await rm(other, { recursive: true });
  });

  it('that went are missing in a fork too', async () => {
    await keep(AGE);
    await inStore(async (store) => {
      const head = (await store.head('t'))!;
      await store.fork('t', head, threadMeta('whole', { createdAtMs: NOW, settings: settings({ model: 'other' }) }));
      const b = (await store.turn('t', 'b'))!;
      const next = (await store.turn('t', 'c'))!;
      expect(b.seq).toBeLessThan(next.seq);
      await store.fork('t', next.seq - 1, threadMeta('part', { createdAtMs: NOW }));
      for (const [id, count] of [
        ['whole', 3],
        ['part', 2],
      ] as const) {
        expect((await store.turns(id, all)).rows).toEqual(before.turns.rows.slice(0, count));
        expect((await store.items(id, all)).rows).toEqual(before.items.rows.slice(0, count * 2));
        expect(await store.context(id)).toEqual(before.context.slice(0, count));
        expect(await stale(store, 1, id)).toMatchObject({ kind: 'stale_cursor' });
      }
      const left: ThreadEvent['type'][] = [];
      for await (const { event } of store.kept('t', head)) left.push(event.type);
      expect(left.filter((type) => type === 'itemStarted')).toHaveLength(6);
    });
    expect(await damagesIn()).toEqual([]);
  });

  it('that went do not come back from a backup, and what stayed does', async () => {
    const backup = await mkdtemp(join(tmpdir(), 'heddle-events-'));
    const history = await openReadOnly(directory);
    await backupHistory(history, backup);
    await history.close();
    await keep(AGE);
    const records = await recordsOf('t');
    const seq = await inStore(async (store) => (await store.turn('t', 'b'))!.seq);
    const database = openDatabase<Buffer, (string | number)[]>({
      path: recordsDirectory(directory),
      encoding: 'binary',
      maxDbs: 32,
    });
    const value = Buffer.from(database.get([...keys.log('t', seq)])!);
    value[70] = value[70]! ^ 1;
    await database.put([...keys.log('t', seq)], value);
    await database.close();
    expect(await damagesIn()).toMatchObject([{ threadId: 't', seq }]);
    expect(await repairHistory(directory, backup, log)).toEqual({ repaired: 1, lost: [] });
    expect(await recordsOf('t')).toBe(records);
    await expectWhole();
    await rm(backup, { recursive: true });
  });

  it('that go while a backup is made are not half in it', async () => {
    const backup = await mkdtemp(join(tmpdir(), 'heddle-events-'));
    const live = new LmdbRows(recordsDirectory(directory));
    const blobs = openBlobs(blobsDirectory(directory));
    const rows = new Proxy(live, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name !== 'backup') return typeof value === 'function' ? value.bind(target) : value;
        return async (to: string) => {
          await target.backup(to);
          const through = JSON.parse(target.get(keys.head('t'))!).seq - 9;
          await trimThread({ rows: target, keys, blobs, log, id: 't', mayGoOn: () => true }, through);
        };
      },
    });
    await backupHistory({ rows, directory, readBlob: async () => undefined, close: async () => {} }, backup);
    await live.close();
    await expectWhole(backup);
    await expectWhole();
    await rm(backup, { recursive: true });
  });

  it('go as well when it is cut off at any step and taken up again', async () => {
    const pristine = `${directory}.pristine`;
    await cp(directory, pristine, { recursive: true });
    const values = await longValues();
    let steps = 0;
    for (let isWhole = false; !isWhole; steps += 1) {
      await rm(directory, { recursive: true });
      await cp(pristine, directory, { recursive: true });
      const rows = new LmdbRows(recordsDirectory(directory));
      const source = { rows, keys, blobs: openBlobs(blobsDirectory(directory)), log, id: 't' };
      const through = JSON.parse(rows.get(keys.head('t'))!).seq - 9;
      let asked = 0;
      await trimThread({ ...source, mayGoOn: () => asked++ < steps }, through);
      isWhole = asked <= steps;
      await rows.close();
      expect(await damagesIn()).toEqual([]);
      if (steps > 0) await expectWhole();
      await keep(AGE);
      await expectWhole();
      expect(await recordsOf('t')).toBeLessThan(60);
      // A file of a long value may be left where the last step was cut off.
      await compactHistory(directory);
      expect(await longValues()).toBe(values - 3);
    }
    expect(steps).toBeGreaterThan(5);
    await rm(pristine, { recursive: true });
  });

  it('that went leave a mark that does not hide the loss of others', async () => {
    await keep(AGE);
    const rows = new LmdbRows(recordsDirectory(directory));
    const log = rows.scan({ from: keys.log('t', 0), to: keys.log('t', 1e9), limit: 1e6 });
    await rows.close();
    expect(log.length).toBeGreaterThan(10);
    for (const { key, text } of log.slice(1)) {
      const rows = new LmdbRows(recordsDirectory(directory));
      await rows.write(() => rows.remove(key));
      await rows.close();
      expect(await damagesIn()).toMatchObject([{ threadId: 't' }]);
      const again = new LmdbRows(recordsDirectory(directory));
      await again.write(() => again.put(key, text));
      await again.close();
    }
    expect(await damagesIn()).toEqual([]);
  });
});
