// A history that an older version listed by other rules: every thread comes to be listed and found by its title, while it is used.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { below, keysOf, LIST_VERSION, listKey } from '../../../src/history/keys.ts';
import { openLmdbHistory } from '../../../src/history/lmdb.ts';
import { LmdbRows } from '../../../src/history/lmdb-rows.ts';
import { recordsDirectory } from '../../../src/history/places.ts';
import { relist } from '../../../src/history/relist.ts';
import type { ThreadStore } from '../../../src/history/store.ts';
import type { ThreadMeta } from '../../../src/model/thread.ts';
import { at, threadMeta, turnCompleted, turnStarted } from '../../harness/history-events.ts';

const keys = keysOf('local');
const COUNT = 120;
const id = (index: number) => `t${String(index).padStart(3, '0')}`;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'heddle-relist-'));
});
afterEach(() => rm(directory, { recursive: true }));

const open = () => openLmdbHistory({ directory, log: silentLog() });
const raw = () => new LmdbRows(recordsDirectory(directory));

const listed = async (store: ThreadStore, query: object = {}): Promise<string[]> => {
  const all = { archived: false, sortKey: 'createdAt', direction: 'asc', limit: 500 } as const;
  return (await store.threads({ ...all, ...query })).rows.map((meta) => meta.id);
};
const searched = async (store: ThreadStore, term: string): Promise<string[]> => {
  const all = { archived: false, sortKey: 'createdAt', direction: 'asc', limit: 500 } as const;
  return (await store.search({ ...all, term })).rows.map(({ meta }) => meta.id);
};

/** Of five threads the first is called something, the second has something attached, the third has a turn, the others nothing. */
async function fill(): Promise<void> {
  const history = await open();
  const store = history.forTenant('local');
  for (let index = 0; index < COUNT; index += 1) {
    const title = index % 5 === 0 ? { title: `title ${id(index)}` } : {};
    await store.create(threadMeta(id(index), { createdAtMs: index + 1, ...title }), []);
    const attachment = { id: 'a', attachmentType: 'x', identityKey: 'k', payload: '{}', createdAtMs: 1 };
    if (index % 5 === 1) await store.append(id(index), 1, at(1, { type: 'attachmentAdded', attachment }));
    if (index % 5 === 2) await store.append(id(index), 1, at(1, turnStarted('u', 'words'), turnCompleted('u')));
  }
  await history.close();
}

/** As an older version left it: only what has a turn is in the list, titles are in no index, rows do not tell of attachments. */
async function makeOld(): Promise<void> {
  const rows = raw();
  await rows.write(() => {
    for (let index = 0; index < COUNT; index += 1) {
      const row = JSON.parse(rows.get(keys.meta(id(index))) as string) as ThreadMeta;
      const { hasAttachments: _flag, ...old } = row;
      rows.put(keys.meta(id(index)), JSON.stringify(old));
      if (index % 5 === 2) continue;
      for (const sort of ['createdAt', 'updatedAt', 'recencyAt'] as const) {
        const place = [sort === 'createdAt' ? old.createdAtMs : old[`${sort}Ms`], old.id];
        rows.remove(keys.listed(false, sort, ...place));
        rows.remove(keys.ofCwd(false, sort, old.settings.cwd, ...place));
        rows.remove(keys.ofProvider(false, sort, old.settings.modelProvider, ...place));
      }
    }
    for (const prefix of [keys.fresh(), keys.numbered(), keys.gram('')])
      for (const { key } of rows.scan({ ...below(prefix), limit: Infinity })) rows.remove(key);
    rows.remove(listKey);
  });
  await rows.close();
}

const kept = Array.from({ length: COUNT }, (_, index) => index).filter((index) => index % 5 < 3);

it('is brought up to date while it is used, once', async () => {
  await fill();
  await makeOld();
  const history = await open();
  const store = history.forTenant('local');
  const query = { archived: false, sortKey: 'createdAt', direction: 'asc', limit: 500 } as const;
  expect((await store.threads(query)).isPartial).toBe(true);
  // Written meanwhile, with what is known of it from before.
  await store.append(id(1), 2, at(5, { type: 'threadRead', throughTurnId: null, revision: 'r' }));
  await history.rebuilt;
  expect((await store.threads(query)).isPartial).toBeUndefined();
  await store.append(id(6), 2, at(5, { type: 'threadRead', throughTurnId: null, revision: 'r' }));
  expect(await listed(store)).toEqual(kept.map(id));
  expect(await listed(store, { cwds: ['/w'] })).toEqual(kept.map(id));
  expect(await listed(store, { searchTerm: 'TITLE t05' })).toEqual([id(50), id(55)]);
  expect(await searched(store, 'title t05')).toEqual([id(50), id(55)]);
  await history.close();
  const rows = raw();
  expect(rows.get(listKey)).toBe(LIST_VERSION);
  await rows.close();
  const again = await open();
  expect(await listed(again.forTenant('local'))).toEqual(kept.map(id));
  expect(await searched(again.forTenant('local'), 'title t05')).toEqual([id(50), id(55)]);
  await again.close();
});

it('is begun again when the server was stopped on the way', async () => {
  await fill();
  await makeOld();
  const history = await open();
  await history.close();
  const rows = raw();
  const isDone = rows.get(listKey) !== undefined;
  await rows.close();
  expect(isDone).toBe(false);
  const again = await open();
  await again.rebuilt;
  expect(await listed(again.forTenant('local'))).toEqual(kept.map(id));
  await again.close();
});

it('lists nothing of a thread that is being removed', async () => {
  await fill();
  await makeOld();
  const rows = raw();
  const source = { rows, keys, blobs: {} as never, log: silentLog() };
  await rows.write(() => rows.remove(keys.head(id(0))));
  expect(await relist(source, 'local', () => {}, new AbortController().signal)).toBe(true);
  expect(rows.get(keys.listed(false, 'createdAt', 1, id(0)))).toBeUndefined();
  expect(rows.get(keys.listed(false, 'createdAt', 6, id(5)))).toBe(id(5));
  await rows.close();
});
