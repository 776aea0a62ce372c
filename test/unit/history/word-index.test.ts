// What is derived from logs beside the turns: it can be made anew, gone on with where it was cut off, and leaves nothing behind.

import { beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { silentLog } from '../../../src/base/log.ts';
import { memoryBlobs } from '../../../src/history/blobs.ts';
import { below, HIGHEST, type Key, keysOf } from '../../../src/history/keys.ts';
import { MemoryRows } from '../../../src/history/memory-rows.ts';
import { Pace } from '../../../src/history/pace.ts';
import { documentsWith, post, unpost } from '../../../src/history/postings.ts';
import type { Row, Scan } from '../../../src/history/rows.ts';
import { RowThreadStore } from '../../../src/history/thread-store.ts';
import type { ThreadEvent } from '../../../src/model/event.ts';
import {
  at,
  itemCompleted,
  itemStarted,
  question,
  threadMeta,
  turnCompleted,
  turnStarted,
} from '../../harness/history-events.ts';
import { ManualClock } from '../transports/manual-clock.ts';

const keys = keysOf('local');

/** Refuses one of the next transactions, in the middle of it. */
class FailingRows extends MemoryRows {
  failsIn = Number.POSITIVE_INFINITY;

  override write<T>(work: () => T): Promise<T> {
    this.failsIn -= 1;
    if (this.failsIn !== 0) return super.write(work);
    return super.write(() => {
      work();
      throw new AppError('unavailable', 'the disk refuses');
    });
  }
}

/** One mark is damaged until another takes its place; something happens right before a transaction that nobody waits for. */
class DamagedMark extends MemoryRows {
  damaged: string | undefined;
  before: (() => Promise<unknown>) | undefined;

  override scan(query: Scan): Row[] {
    return super.scan(query).map((row) => (row.text === this.damaged ? { ...row, text: '', isDamaged: true } : row));
  }

  override async writeAside<T>(work: () => T): Promise<T> {
    const { before } = this;
    this.before = undefined;
    await before?.();
    return super.writeAside(work);
  }
}

/** Counts transactions that nobody waits for. */
class BusyRows extends MemoryRows {
  readonly clock = new ManualClock();
  override readonly pace = new Pace(this.clock);
  aside = 0;

  override writeAside<T>(work: () => T): Promise<T> {
    this.aside += 1;
    return super.writeAside(work);
  }
}

let rows: FailingRows;
const openStore = () => new RowThreadStore({ rows, keys, blobs: memoryBlobs(), log: silentLog() }, 'local', () => 1);
const everything = (): Row[] => rows.scan({ from: [0], to: [HIGHEST], limit: Infinity });
const said = (turnId: string, text: string): ThreadEvent[] => [
  turnStarted(turnId, 'preview'),
  itemStarted(turnId, question(`${turnId}-q`, text)),
  itemCompleted(turnId, question(`${turnId}-q`, text)),
  turnCompleted(turnId),
];

beforeEach(() => {
  rows = new FailingRows();
});

describe('the word index', () => {
  const search = async (store: RowThreadStore, term: string) => {
    const query = { archived: false, sortKey: 'createdAt', direction: 'asc', limit: 10 } as const;
    return (await store.search({ ...query, term })).rows.map(({ meta }) => meta.id);
  };

  it.each([false, true])(
    'takes in a thread of which the mark is damaged; more is said meanwhile: %s',
    async (isMore) => {
      const damaged = new DamagedMark();
      const store = new RowThreadStore(
        { rows: damaged, keys, blobs: memoryBlobs(), log: silentLog() },
        'local',
        () => 1,
      );
      const head = await store.create(threadMeta('t'), at(1, ...said('u', 'alpha')));
      await store.upkeep.worded();
      damaged.damaged = 'lost';
      await damaged.write(() => damaged.put(keys.due('t'), 'lost'));
      if (isMore) damaged.before = () => store.append('t', head, at(2, ...said('v', 'gamma')));
      await store.upkeep.worded();
      expect(damaged.scan({ ...below(keys.due()), limit: 1 })).toEqual([]);
      expect(documentsWith(damaged, keys, 'gamma', false, 10)?.size).toBe(isMore ? 1 : 0);
      expect(documentsWith(damaged, keys, 'alpha', false, 10)?.size).toBe(1);
      await store.close();
    },
  );

  it('goes on where it was cut off, whichever write failed', async () => {
    let failures = 0;
    for (let failsIn = 1; failsIn < 12; failsIn += 1) {
      rows = new FailingRows();
      const first = openStore();
      await first.create(threadMeta('t'), at(1, ...said('u', 'alpha beta'), ...said('v', 'gamma')));
      rows.failsIn = failsIn;
      await first.upkeep.worded();
      failures += rows.failsIn <= 0 ? 1 : 0;
      rows.failsIn = Number.POSITIVE_INFINITY;
      await first.close();
      const second = openStore();
      await second.append('t', 9, at(1, ...said('w', 'delta')));
      await second.upkeep.worded();
      expect(rows.scan({ ...below(keys.due()), limit: 1 })).toEqual([]);
      for (const word of ['alpha', 'beta', 'gamma', 'delta']) {
        expect(documentsWith(rows, keys, word, false, 10)?.size).toBe(1);
        expect(await search(second, word)).toEqual(['t']);
      }
      await second.remove('t');
      expect(rows.scan({ ...below(keys.word()), limit: 10 })).toEqual([]);
      await second.close();
    }
    expect(failures).toBeGreaterThan(2);
  });

  it('is filled while others write without end, with one transaction now and then', async () => {
    const busy = new BusyRows();
    const source = { rows: busy, keys, blobs: memoryBlobs(), log: silentLog() };
    const store = new RowThreadStore(source, 'local', () => 1);
    // Who searches waits as well.
    await search(store, 'alpha');
    expect(busy.pace.isQuiet).toBe(false);
    for (let index = 0; index < 600; index += 1)
      await store.create(threadMeta(`t${index}`), at(1, ...said('u', `alpha beta${index}`)));
    let isFilled = false;
    const filled = store.upkeep.worded().then(() => {
      isFilled = true;
    });
    let [aside, most] = [0, 0];
    while (!isFilled) {
      busy.pace.noteOthers();
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      busy.clock.advance(50);
      most = Math.max(most, busy.aside - aside);
      aside = busy.aside;
    }
    await filled;
    expect(most).toBe(1);
    expect(busy.clock.elapsed()).toBeGreaterThan(500 * 5);
    expect(await search(store, 'beta599')).toEqual(['t599']);
    await store.close();
  });

  it('and everything else leave nothing of a thread that is removed', async () => {
    const store = openStore();
    const before = everything().length;
    await store.create(threadMeta('kept'), at(1, ...said('u', 'common')));
    await store.upkeep.worded();
    const kept = everything().length;
    const attachment = { id: 'x', attachmentType: 'n', identityKey: 'k', payload: '"confidential"', createdAtMs: 1 };
    const section = { id: 's', position: 'U', enteredAtMs: 1 };
    const events = at(
      1,
      ...said('u', 'common confidential'),
      { type: 'attachmentAdded', attachment },
      { type: 'sectionChanged', section },
    );
    await store.create(threadMeta('gone', { preview: 'confidential' }), events);
    await Promise.all([store.upkeep.worded(), store.upkeep.indexed()]);
    await store.remove('gone');
    await Promise.all([store.upkeep.worded(), store.upkeep.indexed()]);
    expect(before).toBeLessThan(kept);
    expect(JSON.stringify(everything())).not.toMatch(/confidential|gone/);
    expect(await search(store, 'common')).toEqual(['kept']);
  });

  it('is made anew when it is of another kind', async () => {
    const store = openStore();
    await store.create(threadMeta('t'), at(1, ...said('u', 'alpha')));
    await store.upkeep.worded();
    await rows.write(() => {
      rows.put(keys.wordsVersion(), 'older');
      for (const { key } of rows.scan({ ...below(keys.word()), limit: 100 })) rows.remove(key);
      rows.put(keys.word('alpha', 7), 'of another kind');
    });
    await store.upkeep.worded();
    expect(documentsWith(rows, keys, 'alpha', false, 10)?.size).toBe(1);
    expect(await search(store, 'alpha')).toEqual(['t']);
  });

  it('keeps numbers of documents in order, over any number of rows', async () => {
    const numbers = [5, 1023, 1024, 1, 99_999, 2048];
    await rows.write(() => {
      post(rows, keys, 'w', numbers.slice(0, 3));
      post(rows, keys, 'w', numbers.slice(2));
      post(rows, keys, 'wide', [7]);
      unpost(rows, keys, 'w', 2048);
      unpost(rows, keys, 'w', 3);
    });
    expect([...(documentsWith(rows, keys, 'w', false, 9) ?? [])]).toEqual([1, 5, 1023, 1024, 99_999]);
    expect([...(documentsWith(rows, keys, 'w', true, 9) ?? [])]).toEqual([1, 5, 1023, 1024, 99_999, 7]);
    expect(documentsWith(rows, keys, 'w', false, 2)).toBeUndefined();
    expect(documentsWith(rows, keys, 'none', false, 2)).toEqual(new Set());
  });
});

it('sections and attachments follow from the log alone', async () => {
  const store = openStore();
  const attachment = (id: string) => ({ id, attachmentType: 'n', identityKey: id, payload: '1', createdAtMs: 1 });
  await store.create(
    threadMeta('t'),
    at(
      1,
      ...said('u', 'x'),
      { type: 'attachmentAdded', attachment: attachment('a') },
      { type: 'attachmentAdded', attachment: attachment('b') },
      { type: 'attachmentRemoved', attachmentId: 'a', attachmentType: 'n', identityKey: 'a' },
      { type: 'sectionChanged', section: { id: 's', position: 'M', enteredAtMs: 7 } },
    ),
  );
  const derived: readonly Key[] = [
    keys.meta('t'),
    keys.attachment('t'),
    keys.attachmentSeqs('t'),
    keys.attached('n', 'b'),
    keys.ofSection(false, 'sectionPosition', 's'),
  ];
  const before = everything();
  await rows.write(() => {
    for (const prefix of derived) for (const { key } of rows.scan({ ...below(prefix), limit: 10 })) rows.remove(key);
  });
  expect(everything().length).toBeLessThan(before.length);
  await store.rebuild('t');
  expect(await store.meta('t')).toMatchObject({ section: { id: 's', position: 'M', enteredAtMs: 7 } });
  expect((await store.attachments.page('t', 10)).rows).toMatchObject([{ attachment: { id: 'b' } }]);
  expect((await store.attachments.owners('n', 'b', { limit: 10 })).rows).toMatchObject([{ id: 't' }]);
  expect(everything().map(({ key }) => key)).toEqual(before.map(({ key }) => key));
});
