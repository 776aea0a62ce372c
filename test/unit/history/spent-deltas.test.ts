// Streamed text of a turn that has ended: gone for everyone at once, and from the disk in short steps, wherever they are cut off.

import { beforeEach, expect, it } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { deferred } from '../../../src/base/signals.ts';
import { memoryBlobs } from '../../../src/history/blobs.ts';
import { ENDLESS, HIGHEST, type Key, keysOf } from '../../../src/history/keys.ts';
import { MemoryRows } from '../../../src/history/memory-rows.ts';
import { RowThreadStore } from '../../../src/history/thread-store.ts';
import type { StoredEvent } from '../../../src/model/event.ts';
import {
  answer,
  at,
  delta,
  itemCompleted,
  itemStarted,
  threadMeta,
  turnCompleted,
  turnStarted,
} from '../../harness/history-events.ts';

const keys = keysOf('local');
const PIECES = 2000;

/** Counts what one transaction removes; those that nobody waits for may be kept back. */
class WatchedRows extends MemoryRows {
  gate: Promise<void> | undefined;
  most = 0;
  #removed = 0;

  override remove(key: Key): void {
    this.#removed += 1;
    this.most = Math.max(this.most, this.#removed);
    super.remove(key);
  }

  override write<T>(work: () => T): Promise<T> {
    return super.write(() => {
      this.#removed = 0;
      return work();
    });
  }

  override async writeAside<T>(work: () => T): Promise<T> {
    await this.gate;
    return super.writeAside(work);
  }
}

let rows: WatchedRows;
beforeEach(() => {
  rows = new WatchedRows();
});
const open = () => new RowThreadStore({ rows, keys, blobs: memoryBlobs(), log: silentLog() }, 'local', () => 1);
const stored = () => rows.scan({ from: keys.deltasFrom('t', 0), to: keys.deltasFrom('t', ENDLESS), limit: ENDLESS });
const marks = () => rows.scan({ from: ['local', 'spent'], to: ['local', 'spent', HIGHEST], limit: ENDLESS });
const pieces = (item: string) => Array.from({ length: PIECES }, (_, index) => delta('u', item, `${index} `));

async function all(store: RowThreadStore, after = 0, limit = 50): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (let place = after; ; ) {
    const page = await store.events('t', place, limit);
    if (page.length === 0) return events;
    events.push(...page);
    const last = page.at(-1) as StoredEvent;
    place = last.seq + (last.event.type === 'delta' ? last.event.parts.length : 1) - 1;
  }
}
const typesOf = (events: readonly StoredEvent[]) => events.map(({ event }) => event.type);

/** A turn that streams a long answer. */
async function stream(store: RowThreadStore): Promise<number> {
  const head = await store.create(
    threadMeta('t'),
    at(1, turnStarted('u'), itemStarted('u', answer('a')), ...pieces('a')),
  );
  expect(typesOf(await all(store)).filter((type) => type === 'delta')).toHaveLength(PIECES);
  return head;
}

it('is nowhere to be seen from the end of the turn on, and goes in steps', async () => {
  const gate = deferred();
  rows.gate = gate.promise;
  const store = open();
  const head = await stream(store);
  rows.most = 0;
  await store.append('t', head, at(2, itemCompleted('u', answer('a', 'text')), turnCompleted('u')));
  expect(rows.most).toBeLessThan(300);
  expect(stored().length).toBeGreaterThan(PIECES - 300);
  expect(typesOf(await all(store))).toEqual([
    ...['threadCreated', 'turnStarted', 'itemStarted', 'itemCompleted', 'turnCompleted'],
  ]);
  // From anywhere in between, too, and by pages that hold nothing else.
  for (const after of [3, 4, 1000, head - 1, head])
    expect(typesOf(await all(store, after, 7))).toEqual(['itemCompleted', 'turnCompleted']);
  gate.resolve();
  await store.upkeep.swept();
  expect(stored()).toEqual([]);
  expect(marks()).toEqual([]);
  await store.close();
});

it('goes at the next start when the server was killed in between', async () => {
  rows.gate = new Promise(() => {});
  const first = open();
  const head = await stream(first);
  await first.append('t', head, at(2, itemCompleted('u', answer('a', 'text')), turnCompleted('u')));
  const left = stored().length;
  expect(left).toBeGreaterThan(1000);
  rows.gate = undefined;
  const second = open();
  expect(typesOf(await all(second))).not.toContain('delta');
  await second.upkeep.swept();
  expect(stored()).toEqual([]);
  expect(marks()).toEqual([]);
  await second.close();
});

it('stays for a command that runs on, until that has ended', async () => {
  const gate = deferred();
  rows.gate = gate.promise;
  const store = open();
  let head = await stream(store);
  const left = { type: 'terminalLeft', turnId: 'u', itemId: 'c' } as const;
  head = await store.append('t', head, at(2, itemStarted('u', answer('c')), ...pieces('c'), left));
  head = await store.append('t', head, at(2, itemCompleted('u', answer('a', 'text')), turnCompleted('u')));
  const shown = async () => (await all(store)).flatMap(({ event }) => (event.type === 'delta' ? [event.itemId] : []));
  expect(await shown()).toEqual(Array.from({ length: PIECES }, () => 'c'));
  // It ends while the rest still goes.
  await store.append('t', head, at(3, itemCompleted('u', answer('c', 'all'))));
  expect(await shown()).toEqual([]);
  gate.resolve();
  await store.upkeep.swept();
  expect([...stored(), ...marks()]).toEqual([]);
  await store.close();
});

it('leaves no mark behind with a thread that is removed', async () => {
  rows.gate = new Promise(() => {});
  const store = open();
  const head = await stream(store);
  await store.append('t', head, at(2, turnCompleted('u')));
  expect(marks()).toHaveLength(1);
  await store.remove('t');
  expect([...stored(), ...marks()]).toEqual([]);
});

it('is of no use to anyone when its mark is damaged, and goes all the same', async () => {
  rows.gate = new Promise(() => {});
  const first = open();
  const head = await stream(first);
  await first.append('t', head, at(2, turnCompleted('u')));
  rows.gate = undefined;
  const scan = rows.scan.bind(rows);
  rows.scan = (query) =>
    scan(query).map((row) => (row.key[1] === 'spent' ? { ...row, text: '', isDamaged: true as const } : row));
  const second = open();
  expect(typesOf(await all(second))).not.toContain('delta');
  await second.upkeep.swept();
  expect([...stored(), ...marks()]).toEqual([]);
  await second.close();
});
