// A fork whose rows go over as bytes is the same as one that is derived from the log.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open as openDatabase } from 'lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { memoryBlobs } from '../../../src/history/blobs.ts';
import { firstLink, LINK_LENGTH, linkOf, nextLink, textOf } from '../../../src/history/chain.ts';
import { forkThread } from '../../../src/history/fork.ts';
import { below, keysOf, removals } from '../../../src/history/keys.ts';
import { LmdbRows } from '../../../src/history/lmdb-rows.ts';
import { MemoryRows } from '../../../src/history/memory-rows.ts';
import type { Row, Rows } from '../../../src/history/rows.ts';
import { RowThreadStore } from '../../../src/history/thread-store.ts';
import type { ThreadEvent } from '../../../src/model/event.ts';
import {
  answer,
  at,
  contextAdded,
  itemCompleted,
  itemStarted,
  question,
  threadMeta,
  turnCompleted,
  turnStarted,
} from '../../harness/history-events.ts';

const TENANT = 'local';
const LONG_TURNS = 400;
const keys = keysOf(TENANT);

const shortTurn = (turnId: string, text: string): ThreadEvent[] => [
  turnStarted(turnId),
  itemStarted(turnId, question(`${turnId}-q`, text)),
  itemCompleted(turnId, question(`${turnId}-q`, text)),
  contextAdded(turnId, text),
  itemStarted(turnId, answer(`${turnId}-a`)),
  itemCompleted(turnId, answer(`${turnId}-a`, `${text}, too`)),
  turnCompleted(turnId),
];

/** Ids and texts of all kinds, with events about the thread itself between them, at the end as well. */
const events: readonly ThreadEvent[] = [
  ...shortTurn('a', 'short'),
  { type: 'threadNamed', name: 'a name' },
  ...shortTurn('b'.repeat(64), '織機の杼を左から右へ。𠮷野家 "type":"threadNamed", \\"blobs\\":['),
  ...shortTurn('機織り', 'an id that is kept by its digest'),
  ...shortTurn('c'.repeat(500), 'w'.repeat(70_000)),
  ...shortTurn('d', `織${'機'.repeat(30_000)}`),
  ...Array.from({ length: LONG_TURNS }, (_, index) => shortTurn(`turn-${index}`, `text ${index}`)).flat(),
  { type: 'threadArchived' },
];

/** Members of rows of tables have no order; records begin with their links, and are compared letter by letter. */
const contentOf = (text: string): unknown => (text.startsWith('{') ? JSON.parse(text) : text);

describe.each(['in memory', 'in LMDB'])('a fork of rows %s', (place) => {
  let directory: string;
  let rows: Rows;
  const blobs = memoryBlobs();

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'heddle-fork-'));
    rows = place === 'in memory' ? new MemoryRows() : new LmdbRows(directory);
  });
  afterEach(async () => {
    await rows.close();
    await rm(directory, { recursive: true });
  });

  const source = () => ({ rows, keys, blobs, log: silentLog() });
  const fork = (from: string, id: string, through: number, isQuick: boolean) => {
    const target = { ...source(), tenant: TENANT, id };
    const meta = threadMeta(id, { createdAtMs: 5000, forkedFromId: from });
    return forkThread(target, { source: from, at: through, meta, now: () => 6000, record: () => {} }, isQuick);
  };
  const plain = (id: string) =>
    rows
      .scan({ ...below(keys.thread(id)), limit: Number.POSITIVE_INFINITY })
      .map(({ key, text, isDamaged }) => ({ key, value: contentOf(text), isDamaged }));

  it.each([
    ['s', 'f'],
    ['s', 'f'.repeat(64)],
    ['s'.repeat(100), 'f'],
    ['源'.repeat(300), '分'.repeat(20)],
    ['s', 's0'],
  ])('is the same both ways, from %s to %s', async (from, id) => {
    const store = new RowThreadStore(source(), TENANT, () => 6000);
    const head = await store.create(threadMeta(from), at(1, ...events));
    const whole = plain(from);
    for (const through of [head, head - 1, head - 4, 30, 9, 8]) {
      await fork(from, id, through, true);
      const quick = plain(id);
      const owners = rows.scan({ ...below([TENANT, 'b']), limit: 100 });
      await store.remove(id);
      await fork(from, id, through, false);
      expect(quick.length).toBeGreaterThan(through / 2);
      expect(quick).toEqual(plain(id));
      expect(rows.scan({ ...below([TENANT, 'b']), limit: 100 })).toEqual(owners);
      await store.remove(id);
    }
    expect(plain(from)).toEqual(whole);
  });

  // What lies in memory is not damaged.
  const damaged = place === 'in memory' ? [] : ['i', 'j', 'c', 'u', 'v', 'l'];
  it.each(damaged)('is derived from the log when a row of table %s is not what was written', async (letter) => {
    const store = new RowThreadStore(source(), TENANT, () => 6000);
    const head = await store.create(threadMeta('s'), at(1, ...events));
    const rowsOf = () => rows.scan({ ...below([...keys.thread('s'), letter]), limit: Number.POSITIVE_INFINITY });
    const found = rowsOf();
    // Behind the first batch: what has been copied by then has to go again.
    const { key } = found[found.length - 2] as Row;
    await rows.close();
    const database = openDatabase<Buffer, (string | number)[]>({ path: directory, encoding: 'binary', maxDbs: 32 });
    await database.transaction(() => {
      const value = Buffer.from(database.get([...key]) as Buffer);
      value[value.length - 2] = (value[value.length - 2] as number) ^ 1;
      void database.put([...key], value);
    });
    await database.close();
    rows = new LmdbRows(directory);
    expect(rowsOf().filter(({ isDamaged }) => isDamaged)).toHaveLength(1);
    await fork('s', 'f', head, true);
    const copied = plain('f');
    expect(copied.some(({ isDamaged }) => isDamaged)).toBe(false);
    await new RowThreadStore(source(), TENANT, () => 6000).remove('f');
    await fork('s', 'f', head, false);
    expect(copied).toEqual(plain('f'));
    expect(rows.scan({ ...removals, limit: 10 })).toEqual([]);
  });

  it('has a chain of its own', async () => {
    const store = new RowThreadStore(source(), TENANT, () => 6000);
    const head = await store.create(threadMeta('s'), at(1, ...events));
    const end = await fork('s', 'f', head, true);
    const records = rows.scan({ ...below(keys.logs('f')), limit: Number.POSITIVE_INFINITY });
    let link = firstLink('f');
    for (const { text } of records) {
      link = nextLink(link, textOf(text));
      expect(linkOf(text)).toBe(link);
    }
    expect(records.length).toBeGreaterThan(7 * LONG_TURNS);
    expect(JSON.parse(rows.get(keys.head('f')) ?? '')).toEqual({ seq: end, link });
    expect(link).toHaveLength(LINK_LENGTH);
  });
});
