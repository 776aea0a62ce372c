// What every history promises about finding what was said, about sections and about attachments, whatever it is kept in.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { openLmdbHistory } from '../../src/history/lmdb.ts';
import { openMemoryHistory } from '../../src/history/memory.ts';
import type { History, OccurrencePlace, SearchQuery, ThreadPlace, ThreadStore } from '../../src/history/store.ts';
import type { RowThreadStore } from '../../src/history/thread-store.ts';
import type { ThreadEvent } from '../../src/model/event.ts';
import { PINNED, type ThreadMeta } from '../../src/model/thread.ts';
import {
  answer,
  at,
  itemCompleted,
  itemStarted,
  question,
  threadMeta,
  turnCompleted,
  turnStarted,
} from '../harness/history-events.ts';

const implementations: Record<string, (directory: string) => Promise<History>> = {
  memory: async () => openMemoryHistory(),
  lmdb: (directory) => openLmdbHistory({ directory, log: silentLog() }),
};

/** A whole turn in which this was asked and answered. */
const said = (turnId: string, asked: string, answered: string): ThreadEvent[] => [
  turnStarted(turnId, 'preview'),
  itemStarted(turnId, question(`${turnId}-q`, asked)),
  itemCompleted(turnId, question(`${turnId}-q`, asked)),
  itemStarted(turnId, answer(`${turnId}-a`)),
  itemCompleted(turnId, answer(`${turnId}-a`, answered)),
  turnCompleted(turnId, { lastMessageId: `${turnId}-a` }),
];

const inSection = (id: string, position: string): ThreadEvent => ({
  type: 'sectionChanged',
  section: { id, position, enteredAtMs: 1 },
});

describe.each(Object.entries(implementations))('history in %s', (_name, open) => {
  let history: History;
  let store: ThreadStore;
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'heddle-store-'));
    history = await open(directory);
    store = history.forTenant('local');
  });
  afterEach(async () => {
    await history.close();
    await rm(directory, { recursive: true });
  });

  const query = { archived: false, sortKey: 'createdAt', direction: 'asc', limit: 100 } as const;
  const found = async (term: string, members: Partial<SearchQuery> = {}): Promise<string[]> =>
    (await store.search({ ...query, term, ...members })).rows.map(({ meta }) => meta.id);
  const begin = (id: string, events: readonly ThreadEvent[], members: Partial<ThreadMeta> = {}) =>
    store.create(threadMeta(id, members), at(1, ...events));

  describe('search', () => {
    it('finds what was asked and answered in turns that have ended, and only there', async () => {
      await begin('a', said('u', 'where is the needle', 'in the haystack'));
      await begin('b', said('u', 'where is it', 'nowhere'));
      await begin('c', said('u', 'x', 'y').slice(0, -1));
      expect(await found('needle')).toEqual(['a']);
      expect(await found('HAYSTACK')).toEqual(['a']);
      expect(await found('where is')).toEqual(['a', 'b']);
      expect(await found('y')).toEqual([]);
      expect(await store.append('c', 6, at(2, turnCompleted('u')))).toBe(7);
      expect(await found('y')).toEqual(['c']);
    });

    it('shows what is around it', async () => {
      await begin('a', said('u', 'x', `${'before '.repeat(50)}needle${' behind'.repeat(50)}`));
      const [row] = (await store.search({ ...query, term: 'needle' })).rows;
      const { text, start, end } = row?.snippet ?? { text: '', start: 0, end: 0 };
      expect(text.slice(start, end)).toBe('needle');
      expect(text.length).toBeLessThan(200);
    });

    it('belongs to one tenant', async () => {
      await begin('a', said('u', 'needle', 'y'));
      expect((await history.forTenant('other').search({ ...query, term: 'needle' })).rows).toEqual([]);
    });

    it('forgets reverted turns and removed threads, and an id can be used anew', async () => {
      await begin('a', [...said('u', 'first needle', 'y'), ...said('v', 'second needle', 'y')]);
      expect(await found('second needle')).toEqual(['a']);
      await store.append('a', 13, at(2, { type: 'turnsReverted', firstTurnId: 'v', turnIds: ['v'] }));
      expect(await found('second needle')).toEqual([]);
      expect(await found('first needle')).toEqual(['a']);
      await store.remove('a');
      expect(await found('first needle')).toEqual([]);
      await begin('a', said('u', 'third needle', 'y'));
      expect(await found('needle')).toEqual(['a']);
      expect(await found('first needle')).toEqual([]);
    });

    it('finds what a fork has, of long and short threads', async () => {
      const events = Array.from({ length: 40 }, (_, index) => said(`u${index}`, `asked ${index}`, `needle${index}`));
      const head = await begin('a', events.flat());
      await store.fork('a', head, threadMeta('b'));
      await store.fork('a', 1 + 6 * 20, threadMeta('c'));
      expect(await found('needle39')).toEqual(['a', 'b']);
      expect(await found('needle19')).toEqual(['a', 'b', 'c']);
    });

    it('goes on in a thread that grows, over many documents', async () => {
      const words = (from: number) => Array.from({ length: 400 }, (_, index) => `w${from + index}x`).join(' ');
      let head = await begin('a', said('u0', 'x', words(0)));
      for (let turn = 1; turn < 10; turn += 1) {
        if (turn % 3 === 0) expect(await found('w1x')).toEqual(['a']);
        head = await store.append('a', head, at(1, ...said(`u${turn}`, 'x', words(turn * 400))));
      }
      for (const word of ['w0x', 'w399x', 'w2000x', 'w3999x', 'w3998x w3999x'])
        expect(await found(word)).toEqual(['a']);
      expect(await found('w4000x')).toEqual([]);
    });

    it('gives each thread once, page by page, in both directions, few and many', async () => {
      const ids = Array.from({ length: 700 }, (_, index) => `t${String(index).padStart(4, '0')}`);
      await Promise.all(
        ids.map((id, index) =>
          begin(id, said('u', 'x', `common ${index % 100 === 0 ? 'rare' : 'usual'}`), {
            createdAtMs: Math.floor(index / 3),
          }),
        ),
      );
      await (store as RowThreadStore).upkeep.worded();
      for (const [term, expected] of [
        ['common', ids],
        ['rare', ids.filter((_, index) => index % 100 === 0)],
      ] as const)
        for (const direction of ['asc', 'desc'] as const) {
          const walked: string[] = [];
          let from: { from: { key: ThreadPlace; inclusive: boolean } } | object = {};
          for (;;) {
            const page = await store.search({ ...query, term, direction, limit: 64, ...from });
            walked.push(...page.rows.map(({ meta }) => meta.id));
            const last = page.rows.at(-1)?.meta;
            if (!page.hasMore) break;
            const key = page.next ?? { ms: last?.createdAtMs ?? 0, id: last?.id ?? '' };
            from = { from: { key, inclusive: false } };
          }
          expect(walked).toEqual(direction === 'asc' ? expected : [...expected].reverse());
        }
    });
  });

  it('finds all places in a thread, page by page', async () => {
    await begin('a', [...said('u', 'aXa', 'no'), ...said('v', 'y', 'x and\nX'), ...said('w', 'xx', '')]);
    const all = (await store.occurrences('a', { term: 'x', limit: 100 })).rows;
    expect(all.map(({ itemId, index, snippet }) => [itemId, index, snippet.start])).toEqual([
      ['u-q', 0, 1],
      ['v-a', 0, 0],
      ['v-a', 1, 6],
      ['w-q', 0, 0],
      ['w-q', 1, 1],
    ]);
    expect(all[0]?.turnSeq).toBe((await store.turn('a', 'u'))?.seq);
    const walked: OccurrencePlace[] = [];
    for (;;) {
      const last = walked.at(-1);
      const page = await store.occurrences('a', { term: 'x', limit: 1, ...(last ? { after: last } : {}) });
      walked.push(...page.rows);
      if (!page.hasMore) break;
    }
    expect(walked).toEqual(all);
  });

  it('lets other work run while it looks at much', async () => {
    const long = 'hay '.repeat(100_000);
    await begin('a', Array.from({ length: 30 }, (_, index) => said(`u${index}`, 'x', long)).flat());
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    expect((await store.occurrences('a', { term: 'needle', limit: 10 })).rows).toEqual([]);
    isOver = true;
    expect(turns).toBeGreaterThanOrEqual(10);
  });

  describe('sections', () => {
    it('are the built-in one and those that were put, until they are removed', async () => {
      const [a, b] = ['a', 'b'].map((id) => ({ id, name: id, appearance: null })) as [typeof PINNED, typeof PINNED];
      for (const section of [b, a]) await store.sections.put(section);
      expect(await store.sections.page(10)).toEqual({ rows: [PINNED, a, b], hasMore: false });
      expect(await store.sections.page(1, PINNED.id)).toEqual({ rows: [a], hasMore: true });
      expect(await store.sections.page(5, 'a')).toEqual({ rows: [b], hasMore: false });
      await store.sections.put({ ...a, name: 'other' });
      expect(store.sections.find('a')?.name).toBe('other');
      await store.sections.remove('a');
      expect(store.sections.find('a')).toBeUndefined();
      expect(history.forTenant('other').sections.find('b')).toBeUndefined();
    });

    it('hold threads, with turns or without, in their order, and none when they are gone', async () => {
      await store.sections.put({ id: 's', name: 's', appearance: null });
      for (const [id, position] of [
        ['a', 'M'],
        ['b', 'C'],
        ['c', 'X'],
      ] as const)
        await begin(id, [...said('u', 'x', 'y'), inSection('s', position)]);
      await begin('d', [inSection('s', 'A')]);
      const listed = async (members: object) =>
        (await store.threads({ ...query, ...members })).rows.map(({ id }) => id);
      expect(await listed({ sectionId: 's', sortKey: 'sectionPosition' })).toEqual(['d', 'b', 'a', 'c']);
      expect(await listed({ sectionId: 's' })).toEqual(['a', 'b', 'c', 'd']);
      expect(await listed({ sectionId: null })).toEqual([]);
      const from = { key: { ms: 'C', id: 'b' }, inclusive: false };
      expect(await listed({ sectionId: 's', sortKey: 'sectionPosition', from })).toEqual(['a', 'c']);
      const place = store.sections.positionIn('s', 'x', { ms: 'M', id: 'a' }) ?? '';
      expect(place > 'C' && place < 'M').toBe(true);
      expect((store.sections.positionIn('s', 'x') ?? '') > 'X').toBe(true);
      await store.append('a', 8, at(2, { type: 'sectionChanged', section: null }));
      await store.remove('c');
      expect(await listed({ sectionId: 's', sortKey: 'sectionPosition' })).toEqual(['d', 'b']);
      await store.sections.remove('s');
      expect(await listed({ sectionId: 's', sortKey: 'sectionPosition' })).toEqual([]);
      expect(await listed({ sectionId: null })).toEqual(['a', 'b', 'd']);
    });
  });

  it('keeps what is attached to threads until it is taken away, or they are', async () => {
    const added = (id: string, identityKey: string, payload = '1'): ThreadEvent => ({
      type: 'attachmentAdded',
      attachment: { id, attachmentType: 'link', identityKey, payload, createdAtMs: 5 },
    });
    const long = JSON.stringify('long '.repeat(50_000));
    await begin('a', [added('1', 'x'), added('2', 'y', long)]);
    await begin('b', [added('3', 'x')], { archived: true });
    expect(await store.attachments.find('a', 'link', 'y')).toMatchObject({ id: '2', payload: long });
    expect((await store.attachments.page('a', 1)).rows).toMatchObject([{ seq: 2, attachment: { id: '1' } }]);
    expect((await store.attachments.page('a', 5, 2)).rows).toMatchObject([{ attachment: { id: '2' } }]);
    const owners = async (members: object = {}) =>
      (await store.attachments.owners('link', 'x', { limit: 10, ...members })).rows.map(({ id }) => id);
    expect(await owners()).toEqual(['a', 'b']);
    expect(await owners({ after: 'a' })).toEqual(['b']);
    expect(await owners({ archived: false })).toEqual(['a']);
    const ofLength = (length: number) => 'k'.repeat(length);
    await begin('c', [added('4', ofLength(3_000_000)), added('5', ofLength(3_000_001)), added('6', 'z')]);
    expect((await store.attachments.page('c', 5)).rows.map(({ attachment }) => attachment.id)).toEqual(['4', '5']);
    const removed: ThreadEvent = {
      type: 'attachmentRemoved',
      attachmentId: '1',
      attachmentType: 'link',
      identityKey: 'x',
    };
    await store.append('a', 3, at(1, removed));
    expect(await store.attachments.find('a', 'link', 'x')).toBeUndefined();
    expect((await store.attachments.page('a', 5)).rows).toHaveLength(1);
    expect(await owners()).toEqual(['b']);
    await store.remove('b');
    expect(await owners()).toEqual([]);
  });
});
