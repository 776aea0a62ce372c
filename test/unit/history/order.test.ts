// Clocks that lie, lists that change under their reader, and reverts: order and completeness come from the log alone.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { keysOf } from '../../../src/history/keys.ts';
import { openLmdbHistory } from '../../../src/history/lmdb.ts';
import { LmdbRows } from '../../../src/history/lmdb-rows.ts';
import { recordsDirectory } from '../../../src/history/places.ts';
import type { ThreadQuery, ThreadStore } from '../../../src/history/store.ts';
import { verifyHistory } from '../../../src/history/verify.ts';
import type { ThreadEvent } from '../../../src/model/event.ts';
import { at, contextAdded, settings, threadMeta, turnStarted, wholeTurn } from '../../harness/history-events.ts';

const HOUR = 3_600_000;
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'heddle-order-'));
});
afterEach(() => rm(directory, { recursive: true }));

async function inStore<T>(work: (store: ThreadStore) => Promise<T>): Promise<T> {
  const history = await openLmdbHistory({ directory, log: silentLog() });
  try {
    return await work(history.forTenant('local'));
  } finally {
    await history.close();
  }
}

const list = { archived: false, sortKey: 'updatedAt', direction: 'desc' } as const;

/** All pages of a list; `between` runs after each. */
async function walk(store: ThreadStore, query: ThreadQuery, between: (page: number) => Promise<void> = async () => {}) {
  const ids: string[] = [];
  let from: ThreadQuery['from'];
  for (let pages = 0; pages < 5_000; pages += 1) {
    const page = await store.threads({ ...query, ...(from && { from }) });
    ids.push(...page.rows.map(({ id }) => id));
    if (!page.hasMore) return ids;
    const last = page.rows.at(-1);
    const key = page.next ?? (last && { ms: last.updatedAtMs, id: last.id });
    from = key && { key, inclusive: false };
    await between(pages);
  }
  throw new Error('paging does not end');
}

it('keeps the order of acceptance when the clock jumps, and lists every thread once', async () => {
  await inStore(async (store) => {
    const jumps = [0, -HOUR, 2 * HOUR, -2_000 * HOUR, 5, 5, 5];
    for (const id of ['a', 'b', 'c']) {
      let head = await store.create(threadMeta(id, { createdAtMs: 10 * HOUR }), []);
      for (const [index, jump] of jumps.entries())
        head = await store.append(id, head, at(10 * HOUR + jump, ...wholeTurn(`u${index}`)));
    }
    const expected = jumps.map((_, index) => `u${index}`);
    const turns = await store.turns('a', { direction: 'asc', limit: 100 });
    expect(turns.rows.map(({ id }) => id)).toEqual(expected);
    const started = (await store.events('a', 0, 1000)).flatMap(({ event }) =>
      event.type === 'turnStarted' ? [event.turnId] : [],
    );
    expect(started).toEqual(expected);
    expect((await walk(store, { ...list, limit: 1 })).sort()).toEqual(['a', 'b', 'c']);
  });
});

it('gives every thread that nobody touched exactly once while others change, and the same page for the same cursor', async () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `t${String(index).padStart(4, '0')}`);
  await inStore(async (store) => {
    await Promise.all(
      names.map((id, index) => {
        // A tenth of them at the same millisecond.
        const atMs = index % 10 === 0 ? 500 : 1_000 + index;
        const meta = threadMeta(id, { createdAtMs: 1, settings: settings({ cwd: `/${index % 2}` }) });
        return store.create(meta, at(atMs, turnStarted('u')));
      }),
    );
    const touched = new Set<string>();
    const change = async (page: number) => {
      const id = names[(page * 37) % names.length] as string;
      touched.add(id);
      const head = await store.head(id);
      if (head === undefined) return;
      if (page % 3 === 0) await store.append(id, head, at(9_000 + page, turnStarted(`again-${page}`)));
      if (page % 3 === 1) await store.append(id, head, at(1, { type: 'threadArchived' }));
      if (page % 3 === 2) await store.remove(id);
      await store.create(threadMeta(`new-${page}`, { createdAtMs: 1 }), at(700, turnStarted('u')));
    };
    const found = await walk(store, { ...list, limit: 7 }, change);
    for (const id of names)
      if (!touched.has(id)) expect([id, found.filter((each) => each === id).length]).toEqual([id, 1]);
    const query = { ...list, limit: 7, cwds: ['/0'] };
    const first = await store.threads(query);
    const last = first.rows.at(-1) as { updatedAtMs: number; id: string };
    const from = { key: { ms: last.updatedAtMs, id: last.id }, inclusive: false };
    expect(await store.threads({ ...query, from })).toEqual(await store.threads({ ...query, from }));
  });
  // The same cursor after a restart.
  const from = { key: { ms: 700, id: 'new-3' }, inclusive: true };
  const page = () => inStore((store) => store.threads({ ...list, limit: 7, from }));
  const before = await page();
  expect(await page()).toEqual(before);
});

it('keeps the log as it was through reverts, and shows what was reverted to nobody', async () => {
  const keys = keysOf('local');
  const records = async () => {
    const rows = new LmdbRows(recordsDirectory(directory), { readOnly: true });
    const found = rows.scan({ from: keys.log('t', 0), to: keys.log('t', 10_000), limit: 10_000 });
    await rows.close();
    return found.map(({ text }) => text);
  };
  await inStore(async (store) => {
    const turns = Array.from({ length: 30 }, (_, index) => wholeTurn(`u${index}`));
    await store.create(threadMeta('t'), at(1, ...turns.flat()));
  });
  const before = await records();
  await inStore(async (store) => {
    const reverted: ThreadEvent = { type: 'turnsReverted', firstTurnId: 'u28', turnIds: ['u28', 'u29'] };
    const head = (await store.head('t')) as number;
    await store.append('t', head, at(2, reverted, ...wholeTurn('next'), contextAdded('next', 'more')));
    const { rows } = await store.turns('t', { direction: 'asc', limit: 100 });
    expect(rows.map(({ id }) => id)).toEqual([...Array.from({ length: 28 }, (_, index) => `u${index}`), 'next']);
    const context = await store.context('t');
    expect(context).toHaveLength(30);
    expect(JSON.stringify(context)).not.toMatch(/u28|u29/);
  });
  expect((await records()).slice(0, before.length)).toEqual(before);
  expect(await verifyHistory(directory)).toMatchObject({ damages: [] });
});
