// Damage in what is stored: each changed bit is noticed, costs at most its record, and tables come back from the log.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open as openDatabase } from 'lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/base/log.ts';
import { type Key, keysOf, tablesKey } from '../../../src/history/keys.ts';
import { openLmdbHistory } from '../../../src/history/lmdb.ts';
import { recordsDirectory } from '../../../src/history/places.ts';
import type { ThreadStore } from '../../../src/history/store.ts';
import { verifyHistory } from '../../../src/history/verify.ts';
import type { ThreadEvent } from '../../../src/model/event.ts';
import { SEED } from '../../harness/chance.ts';
import {
  answer,
  asideAsked,
  at,
  delta,
  itemStarted,
  settings,
  threadMeta,
  turnStarted,
  wholeTurn,
} from '../../harness/history-events.ts';

const FLIPS = Number(process.env.HEDDLE_FLIPS ?? 200);
const IDS = ['a', 'b', 'c'];

type DatabaseKey = (string | number)[];

function random(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return Math.floor(((state >>> 0) / 2 ** 32) * below);
  };
}

describe('damage', () => {
  let directory: string;
  const open = () => openLmdbHistory({ directory, log: silentLog() });

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'heddle-damage-'));
    const history = await open();
    const store = history.forTenant('local');
    for (const id of IDS) {
      const once = { key: `k-${id}`, method: 'turn/start', fingerprint: 'f', reply: '{}' };
      const meta = threadMeta(id, { settings: settings({ cwd: `/${id}` }) });
      const head = await store.create(meta, at(2, ...wholeTurn('u'), ...wholeTurn('v'), ...wholeTurn('w')), once);
      const reverted: ThreadEvent = { type: 'turnsReverted', firstTurnId: 'v', turnIds: ['v', 'w'] };
      const parts = [turnStarted('open'), itemStarted('open', answer('i')), delta('open', 'i', 'x', 'y')];
      await store.append(
        id,
        head,
        at(3, asideAsked('p'), reverted, { type: 'threadNamed', name: `name ${id}` }, ...parts),
      );
    }
    await history.close();
  });
  afterEach(() => rm(directory, { recursive: true }));

  /** Changes stored values behind the back of the store. */
  const harm = async (work: (database: ReturnType<typeof openDatabase<Buffer, DatabaseKey>>) => void) => {
    const path = recordsDirectory(directory);
    const database = openDatabase<Buffer, DatabaseKey>({ path, encoding: 'binary', maxDbs: 32 });
    await database.transaction(() => work(database));
    await database.close();
  };

  const all = { direction: 'asc', limit: 100 } as const;
  const threadOf = async (store: ThreadStore, id: string) => ({
    head: await store.head(id),
    meta: await store.meta(id),
    events: await store.events(id, 0, 100),
    turns: await store.turns(id, all),
    items: await store.items(id, all),
    item: await store.item(id, 'u-a'),
    context: await store.context(id),
    key: await store.ledger.find('turn/start', `k-${id}`).catch((error: { data: object }) => error.data),
  });
  const contents = async (store: ThreadStore) => {
    const list = (query: object) =>
      store.threads({ archived: false, sortKey: 'createdAt', direction: 'asc', limit: 9, ...query });
    return {
      threads: [await threadOf(store, 'a'), await threadOf(store, 'b'), await threadOf(store, 'c')],
      lists: [
        await list({}),
        await list({ cwds: ['/b'] }),
        await list({ searchTerm: 'name c' }),
        await list({ sortKey: 'updatedAt' }),
      ],
      open: await store.openTurns(),
    };
  };
  const read = async () => {
    const history = await open();
    await history.rebuilt;
    const found = await contents(history.forTenant('local'));
    await history.close();
    return found;
  };
  type Contents = Awaited<ReturnType<typeof read>>;

  /** What may be lost with the record under this key: the record itself, and what only it said. */
  function without(key: DatabaseKey, { threads, ...rest }: Contents): unknown {
    const [, table, id, kind, seq] = key;
    if (table === 'k') return { ...rest, threads: threads.map(({ key: _key, ...thread }) => thread) };
    if (table !== 't' || (kind !== 'l' && kind !== 'd')) return { ...rest, threads };
    const named = threads.map((thread, index) => {
      if (IDS[index] !== id) return thread;
      const { context: _context, events, ...tables } = thread;
      return { ...tables, events: events.filter((event) => event.seq !== seq) };
    });
    return { ...rest, threads: named };
  }

  it(`notices every changed bit of a stored value, and loses at most its record (seed ${SEED})`, async () => {
    const next = random(SEED);
    const before = await read();
    const keys: DatabaseKey[] = [];
    await harm((database) => {
      for (const key of database.getKeys()) keys.push(key);
    });
    for (let round = 0; round < FLIPS; round += 1) {
      const key = keys[next(keys.length)] as DatabaseKey;
      let whole: Buffer = Buffer.alloc(0);
      const flip = { byte: 0, bit: next(8) };
      await harm((database) => {
        const value = database.get(key);
        if (value === undefined) return;
        whole = Buffer.from(value);
        flip.byte = next(whole.length);
        const changed = Buffer.from(whole);
        changed[flip.byte] = (changed[flip.byte] as number) ^ (1 << flip.bit);
        database.put(key, changed);
      });
      const why = `round ${round}: ${JSON.stringify({ key, ...flip })}`;
      const after = await read();
      expect(without(key, after), why).toEqual(without(key, before));
      const { damages } = await verifyHistory(directory);
      if (key[3] === 'l') {
        expect(damages, why).toMatchObject([{ threadId: key[2], seq: key[4] }]);
        const thread = after.threads[IDS.indexOf(key[2] as string)];
        expect(thread?.events.find(({ seq }) => seq === key[4])?.event.type, why).toBe('warned');
      } else expect(damages, why).toEqual([]);
      if (key[1] === 'k')
        expect(after.threads[IDS.indexOf((key[3] as string).slice(2))]?.key, why).toMatchObject({ kind: 'uncertain' });
      await harm((database) => void (whole.length > 0 && database.put(key, whole)));
    }
  }, 3_600_000);

  const isIndex = (key: DatabaseKey) => key[0] === 'local' && 'swpfgno'.includes(String(key[1]));
  const isTable = (key: DatabaseKey) => key[1] === 't' && ['m', 'u', 'v', 'i', 'j', 'c', 'h'].includes(String(key[3]));
  const each = (database: Parameters<Parameters<typeof harm>[0]>[0], fits: (key: DatabaseKey) => boolean) =>
    [...database.getKeys()].filter(fits);

  it.each<[string, (key: DatabaseKey) => Buffer | undefined]>([
    ['missing', () => undefined],
    ['empty', () => Buffer.from('\u0000')],
    ['random', () => Buffer.from('nonsense that was never written')],
  ])('makes tables and indexes that are %s anew while it serves', async (_what, value) => {
    const before = await read();
    await harm((database) => {
      database.remove(tablesKey as DatabaseKey);
      for (const key of each(database, (key) => isIndex(key) || isTable(key))) {
        const content = value(key);
        if (content === undefined) database.remove(key);
        else database.put(key, content);
      }
    });
    const history = await open();
    const store = history.forTenant('local');
    const early = await store.threads({ archived: false, sortKey: 'createdAt', direction: 'asc', limit: 9 });
    expect(early.isPartial).toBe(true);
    expect(await store.events('a', 0, 100)).toEqual(before.threads[0]?.events);
    await history.rebuilt;
    expect(await contents(store)).toEqual(before);
    await history.close();
    expect(await verifyHistory(directory)).toMatchObject({ threads: 3, damages: [] });
  });

  it('passes over entries that lead nowhere', async () => {
    const before = await read();
    await harm((database) => {
      for (const key of each(database, (key) => key[1] === 's' && key.at(-1) === 'a'))
        database.put([...key.slice(0, -2), 7, 'gone'], database.get(key) as Buffer);
      for (const key of each(database, (key) => key[1] === 's' && key.at(-1) === 'b'))
        database.put([...key.slice(0, -2), 1, 'b'], database.get(key) as Buffer);
    });
    expect(await read()).toEqual(before);
  });

  describe('of a record and of the row that was made from it', () => {
    const keys = keysOf('local');
    const NONSENSE = Buffer.from('nonsense that was never written');
    const spoil = (...places: Key[]) =>
      harm((database) => {
        for (const key of places) {
          expect(database.get(key as DatabaseKey), JSON.stringify(key)).toBeDefined();
          database.put(key as DatabaseKey, NONSENSE);
        }
      });
    /** In the order of the log, with the number of the record behind each. */
    const seqOf = async (type: ThreadEvent['type'], itemId?: string) => {
      const history = await open();
      const events = await history.forTenant('local').events('a', 0, 100);
      await history.close();
      const found = events.find(
        ({ event }) => event.type === type && (itemId === undefined || ('item' in event && event.item.id === itemId)),
      );
      return found?.seq as number;
    };
    const shown = async () => {
      const history = await open();
      const store = history.forTenant('local');
      const found = { turns: await store.turns('a', all), items: await store.items('a', all) };
      await history.rebuilt;
      await history.close();
      return found;
    };

    it.each([['the row of the item'], ['the row of another item'], ['the rows that say where items lie']])(
      'costs nothing when the record of its end is whole: %s',
      async (which) => {
        const before = await shown();
        const [started, other] = [await seqOf('itemStarted', 'u-q'), await seqOf('itemStarted', 'u-a')];
        const row = keys.item('a', which === 'the row of another item' ? other : started);
        await spoil(keys.log('a', started), row, ...(which.startsWith('the rows') ? [keys.itemSeq('a', 'u-a')] : []));
        expect(await shown()).toEqual(before);
        expect(await shown()).toEqual(before);
      },
    );

    it('costs the item when both of its records are damaged, and nothing else', async () => {
      const before = await shown();
      const [started, completed] = [await seqOf('itemStarted', 'u-q'), await seqOf('itemCompleted', 'u-q')];
      await spoil(keys.log('a', started), keys.log('a', completed), keys.item('a', started));
      const after = await shown();
      expect(after.items.rows).toEqual(before.items.rows.filter(({ item }) => item.id !== 'u-q'));
      expect(after.turns.rows.map(({ id }) => id)).toEqual(['u', 'open']);
    });

    it('leaves the turn with its items when the record of its beginning is damaged', async () => {
      const before = await shown();
      const started = await seqOf('turnStarted');
      await spoil(keys.log('a', started), keys.turn('a', started));
      const after = await shown();
      expect(after.items).toEqual(before.items);
      expect(after.turns.rows).toMatchObject([
        { id: 'u', seq: started, status: 'completed', firstUserItemId: 'u-q', lastMessageId: 'u-a' },
        { id: 'open', status: 'inProgress' },
      ]);
      const history = await open();
      expect(await history.forTenant('local').items('a', { ...all, turnId: 'u' })).toMatchObject({
        rows: [{ item: { id: 'u-q' } }, { item: { id: 'u-a' } }],
      });
      await history.close();
    });

    it('shows no item twice, and no more those that were', async () => {
      const before = await shown();
      const [started, completed] = [await seqOf('itemStarted', 'u-q'), await seqOf('itemCompleted', 'u-q')];
      await harm((database) => {
        database.put(
          keys.item('a', completed) as DatabaseKey,
          database.get(keys.item('a', started) as DatabaseKey) as Buffer,
        );
        database.remove(tablesKey as DatabaseKey);
      });
      await shown();
      expect(await shown()).toEqual(before);
    });

    it('of a turn that is taken back costs nothing', async () => {
      const before = await shown();
      const [started, reverted] = [await seqOf('itemStarted', 'w-q'), await seqOf('turnsReverted')];
      expect(started).toBeLessThan(reverted);
      await spoil(keys.log('a', started));
      await harm((database) => {
        database.put(keys.item('a', started) as DatabaseKey, NONSENSE);
        database.remove(tablesKey as DatabaseKey);
      });
      await shown();
      expect(await shown()).toEqual(before);
    });
  });

  it('goes on appending to a thread whose tables were lost', async () => {
    await harm((database) => {
      for (const key of each(database, (key) => isTable(key) && key[2] === 'a')) database.put(key, Buffer.from('x'));
    });
    const history = await open();
    const store = history.forTenant('local');
    const head = (await store.head('a')) as number;
    await store.append('a', head, at(9, { type: 'threadNamed', name: 'after' }));
    expect(await store.meta('a')).toMatchObject({ name: 'after', turnCount: 2 });
    expect((await store.turns('a', all)).rows.map(({ id }) => id)).toEqual(['u', 'open']);
    await history.close();
    expect(await verifyHistory(directory)).toMatchObject({ damages: [] });
  });
});
