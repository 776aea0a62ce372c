// What every history promises, whatever it is kept in.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { openLmdbHistory } from '../../src/history/lmdb.ts';
import { openMemoryHistory } from '../../src/history/memory.ts';
import type { History, Once, Page, ThreadQuery, ThreadStore } from '../../src/history/store.ts';
import { MAX_PREVIEW } from '../../src/history/tables.ts';
import { RowThreadStore } from '../../src/history/thread-store.ts';
import type { ThreadEvent } from '../../src/model/event.ts';
import {
  answer,
  asideAsked,
  asideEnded,
  at,
  contextAdded,
  delta,
  itemCompleted,
  itemStarted,
  question,
  settings,
  threadMeta,
  turnCompleted,
  turnStarted,
  wholeTurn,
} from '../harness/history-events.ts';

const DAY = 24 * 60 * 60 * 1000;
const once = (key: string, members: Partial<Once> = {}): Once => ({
  key,
  method: 'turn/start',
  fingerprint: 'f',
  reply: '{"ok":true}',
  ...members,
});

const implementations: Record<string, (clock: Clock, directory: string) => Promise<History>> = {
  memory: async (clock) => openMemoryHistory({ clock }),
  lmdb: (clock, directory) => openLmdbHistory({ directory, log: silentLog(), clock }),
};

describe.each(Object.entries(implementations))('history in %s', (_name, open) => {
  let history: History;
  let store: ThreadStore;
  let directory: string;
  let now = 0;

  beforeEach(async () => {
    now = 1_000_000;
    directory = await mkdtemp(join(tmpdir(), 'heddle-store-'));
    history = await open({ ...systemClock, now: () => now }, directory);
    store = history.forTenant('local');
  });
  afterEach(async () => {
    await history.close();
    await rm(directory, { recursive: true });
  });

  const all = { direction: 'asc', limit: 1000 } as const;
  const seqs = async (id: string, after = 0, limit = 1000) => (await store.events(id, after, limit)).map((e) => e.seq);

  describe('logs', () => {
    it('begins a log with its creation and numbers what follows without gaps', async () => {
      expect(await store.create(threadMeta('t'), at(5, turnStarted('u')))).toBe(2);
      expect(await store.append('t', 2, at(6, turnCompleted('u')))).toBe(3);
      const events = await store.events('t', 0, 10);
      expect(events.map(({ seq, atMs, event }) => [seq, atMs, event.type])).toEqual([
        [1, 1000, 'threadCreated'],
        [2, 5, 'turnStarted'],
        [3, 6, 'turnCompleted'],
      ]);
      expect(events[1]?.event).toEqual(turnStarted('u'));
      expect(await store.head('t')).toBe(3);
    });

    it('refuses an id that is taken, a head that has moved and a thread that is not there', async () => {
      await store.create(threadMeta('t'), []);
      await expect(store.create(threadMeta('t'), [])).rejects.toMatchObject({ kind: 'conflict' });
      await expect(store.append('t', 0, at(1, turnStarted('u')))).rejects.toMatchObject({
        kind: 'conflict',
        data: { head: 1, expected: 0 },
      });
      await expect(store.append('x', 0, at(1, turnStarted('u')))).rejects.toMatchObject({ kind: 'notFound' });
      expect(await store.head('t')).toBe(1);
      expect(await store.head('x')).toBeUndefined();
      expect(await store.meta('x')).toBeUndefined();
      expect(await store.openTurns()).toEqual([]);
    });

    it('lets exactly one of two writers with the same expectation through', async () => {
      await store.create(threadMeta('t'), []);
      const results = await Promise.allSettled([
        store.append('t', 1, at(1, turnStarted('a'))),
        store.append('t', 1, at(1, turnStarted('b'))),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
      expect((await store.turns('t', all)).rows.map(({ id }) => id)).toEqual(['a']);
    });

    it('pages through kept events and deltas as one sequence', async () => {
      await store.create(threadMeta('t'), at(1, turnStarted('u'), itemStarted('u', answer('i'))));
      await store.append('t', 3, at(2, delta('u', 'i', 'a', 'b', 'c')));
      await store.append('t', 6, at(3, contextAdded('u', 'x'), delta('u', 'i', 'd')));
      expect(await store.head('t')).toBe(8);
      expect(await seqs('t')).toEqual([1, 2, 3, 4, 7, 8]);
      expect(await seqs('t', 2, 2)).toEqual([3, 4]);
      expect(await seqs('t', 6, 5)).toEqual([7, 8]);
      expect(await seqs('t', 8)).toEqual([]);
      const walked: number[] = [];
      for (let after = 0; ; ) {
        const [event] = await store.events('t', after, 1);
        if (event === undefined) break;
        walked.push(event.seq);
        after = event.event.type === 'delta' ? event.seq + event.event.parts.length - 1 : event.seq;
      }
      expect(walked).toEqual([1, 2, 3, 4, 7, 8]);
    });

    it('cuts a delta of which the cursor lies inside', async () => {
      await store.create(threadMeta('t'), at(1, turnStarted('u'), delta('u', 'i', 'a', 'b', 'c')));
      const [cut] = await store.events('t', 3, 1);
      expect(cut).toMatchObject({ seq: 4, event: { parts: ['b', 'c'] } });
      expect((await store.events('t', 4, 9))[0]).toMatchObject({ seq: 5, event: { parts: ['c'] } });
      expect(await store.events('t', 5, 9)).toEqual([]);
    });

    it('drops the deltas of a turn when it is over, and of no other; their numbers stay used', async () => {
      await store.create(threadMeta('t'), at(1, turnStarted('u'), turnStarted('v')));
      await store.append('t', 3, at(1, delta('u', 'i', 'a', 'b'), delta('v', 'j', 'x'), delta('u', 'i', 'c')));
      expect(await store.append('t', 7, at(2, turnCompleted('u')))).toBe(8);
      expect(await seqs('t')).toEqual([1, 2, 3, 6, 8]);
      expect(await seqs('t', 4)).toEqual([6, 8]);
    });

    it('ends a page early rather than outgrow memory, and skips nothing', async () => {
      await store.create(threadMeta('t'), at(1, turnStarted('u')));
      let head = 2;
      for (let index = 0; index < 120; index += 1)
        head = await store.append('t', head, at(1, contextAdded('u', 'x'.repeat(60_000)), delta('u', 'i', 'a')));
      const walked: number[] = [];
      let pages = 0;
      for (;;) {
        const page = await seqs('t', walked.at(-1) ?? 0);
        if (page.length === 0) break;
        walked.push(...page);
        pages += 1;
      }
      expect(walked).toEqual(Array.from({ length: head }, (_, index) => index + 1));
      expect(pages).toBeGreaterThan(1);
    });

    it('drops however many deltas a turn has, and leaves those of others among them', async () => {
      const pieces = Array.from({ length: 700 }, (_, at) => delta(at % 10 === 3 ? 'v' : 'u', 'i', 'a'));
      await store.create(threadMeta('t'), at(1, turnStarted('u'), turnStarted('v'), ...pieces));
      const head = await store.append('t', 703, at(2, turnCompleted('u')));
      const left = (await store.events('t', 0, 1000)).filter(({ event }) => event.type === 'delta');
      expect(left).toHaveLength(70);
      expect(left.every(({ event }) => event.type === 'delta' && event.turnId === 'v')).toBe(true);
      await store.append('t', head, at(3, turnCompleted('v')));
      expect((await store.events('t', 0, 1000)).map(({ event }) => event.type)).not.toContain('delta');
    });

    it('keeps the deltas of what a turn has left running until that ends, and knows what runs', async () => {
      const [left, other] = [answer('left'), answer('other')];
      const begin = [turnStarted('u'), itemStarted('u', left), itemStarted('u', other)];
      const leave: ThreadEvent = { type: 'terminalLeft', turnId: 'u', itemId: 'left' };
      const inTurn = [delta('u', 'left', 'a'), delta('u', 'other', 'x'), leave, delta('u', 'left', 'b')];
      await store.create(threadMeta('t'), at(1, ...begin, ...inTurn, turnCompleted('u')));
      const head = await store.append('t', 9, at(2, turnStarted('v'), delta('v', 'w', 'y'), delta('u', 'left', 'c')));
      const parts = async () =>
        (await store.events('t', 0, 100)).flatMap(({ event }) => (event.type === 'delta' ? event.parts : []));
      expect(await parts()).toEqual(['a', 'b', 'y', 'c']);
      expect((await store.meta('t'))?.terminals).toEqual([{ turnId: 'u', itemId: 'left' }]);
      if (store instanceof RowThreadStore) await store.rebuild('t');
      expect((await store.meta('t'))?.terminals).toEqual([{ turnId: 'u', itemId: 'left' }]);
      await store.append('t', head, at(3, itemCompleted('u', { ...left, completedAtMs: 3 })));
      expect(await parts()).toEqual(['y']);
      expect((await store.meta('t'))?.terminals).toEqual([]);
      expect((await store.turn('t', 'u'))?.status).toBe('completed');
    });

    it('copies what runs as running only if the end is not copied', async () => {
      const left = answer('left');
      const leave: ThreadEvent = { type: 'terminalLeft', turnId: 'u', itemId: 'left' };
      await store.create(threadMeta('t'), at(1, turnStarted('u'), itemStarted('u', left), leave, turnCompleted('u')));
      await store.append('t', 5, at(2, itemCompleted('u', { ...left, completedAtMs: 3 }), ...wholeTurn('v')));
      await store.fork('t', 5, threadMeta('before'));
      await store.fork('t', 13, threadMeta('after'));
      expect((await store.meta('before'))?.terminals).toEqual([{ turnId: 'u', itemId: 'left' }]);
      expect((await store.meta('after'))?.terminals).toEqual([]);
    });

    it('forgets what runs of turns that are reverted', async () => {
      const leave: ThreadEvent = { type: 'terminalLeft', turnId: 'u', itemId: 'left' };
      await store.create(threadMeta('t'), at(1, turnStarted('u'), itemStarted('u', answer('left')), leave));
      const revert: ThreadEvent = { type: 'turnsReverted', firstTurnId: 'u', turnIds: ['u'] };
      await store.append('t', 4, at(2, turnCompleted('u'), revert));
      expect((await store.meta('t'))?.terminals).toEqual([]);
    });

    it('gives no number to a delta without parts', async () => {
      await store.create(threadMeta('t'), at(1, turnStarted('u'), delta('u', 'i')));
      expect(await store.append('t', 2, at(2, delta('u', 'i', 'a')))).toBe(3);
      expect(await seqs('t')).toEqual([1, 2, 3]);
    });

    it('gives long values back as they were, in events, items and the catalogue', async () => {
      const long = 'ä€😀'.repeat(40_000);
      const broken = `${'y'.repeat(70_000)}\ud800`;
      const instructions = 'be brief '.repeat(10_000);
      const created = threadMeta('t', { settings: settings({ baseInstructions: instructions }) });
      const item = { ...answer('i', long), memoryCitation: null };
      await store.create(created, at(1, turnStarted('u'), itemCompleted('u', item), contextAdded('u', broken)));
      expect((await store.events('t', 2, 1))[0]?.event).toEqual(itemCompleted('u', item));
      expect((await store.item('t', 'i'))?.item).toEqual(item);
      expect((await store.items('t', all)).rows[0]?.item).toEqual(item);
      expect((await store.meta('t'))?.settings.baseInstructions).toBe(instructions);
      expect(await store.context('t')).toEqual([{ type: 'note', text: broken }]);
    });

    it('keeps values that look like references, and odd members, as they are', async () => {
      const metadata = JSON.parse('{"blobs":[{"path":["x"],"hash":"h","bytes":1}],"__proto__":{"a":1},"n":-1.5e300}');
      await store.create(threadMeta('t', { metadata }), []);
      expect(JSON.stringify((await store.meta('t'))?.metadata)).toEqual(JSON.stringify(metadata));
      const [event] = await store.events('t', 0, 1);
      expect(event?.event.type === 'threadCreated' && Object.keys(event.event.meta.metadata ?? {}).sort()).toEqual([
        '__proto__',
        'blobs',
        'n',
      ]);
    });
  });

  describe('tables', () => {
    it('find questions outside of turns like turns that are open, until they end', async () => {
      await store.create(threadMeta('t'), at(1, asideAsked('p'), asideAsked('q'), ...wholeTurn('u')));
      const row = { threadId: 't', turnId: '' };
      const open = async () => (await store.openTurns()).toSorted((one, other) => one.seq - other.seq);
      expect(await open()).toEqual([
        { ...row, seq: 2 },
        { ...row, seq: 3 },
      ]);
      const asides = [
        { approvalId: 'p', nonce: 'nonce-p', requestId: 7 },
        { approvalId: 'q', nonce: 'nonce-q', requestId: 7 },
      ];
      expect(await store.meta('t')).toMatchObject({ asides });
      const head = (await store.head('t')) as number;
      await store.fork('t', head, threadMeta('f', { forkedFromId: 't' }));
      expect(await store.meta('f')).toMatchObject({ asides: [] });
      await store.append('t', head, at(2, asideEnded('p')));
      expect(await open()).toEqual([{ ...row, seq: 3 }]);
      expect(await store.meta('t')).toMatchObject({ asides: asides.slice(1) });
      await store.remove('t');
      expect(await open()).toEqual([]);
    });

    it('follow a turn from start to end', async () => {
      await store.create(threadMeta('t'), []);
      await store.append('t', 1, at(2000, turnStarted('u', 'first words', 1999), itemStarted('u', question('q'))));
      expect(await store.openTurns()).toEqual([{ threadId: 't', turnId: 'u', seq: 2 }]);
      expect(await store.turn('t', 'u')).toMatchObject({
        status: 'inProgress',
        startedAtMs: 1999,
        firstUserItemId: 'q',
      });
      expect(await store.meta('t')).toMatchObject({
        turnCount: 1,
        updatedAtMs: 2000,
        recencyAtMs: 2000,
        preview: 'first words',
        failed: false,
      });
      const usage = { ...threadMeta('x').usage, totalTokens: 7 };
      await store.append(
        't',
        3,
        at(
          3000,
          itemStarted('u', answer('a')),
          itemCompleted('u', question('q', 'done')),
          itemCompleted('u', answer('a', 'text')),
          itemCompleted('u', answer('late', 'never started')),
          { type: 'usageReported', turnId: 'u', total: usage, last: usage, contextWindow: null },
          turnCompleted('u', { status: 'failed', revision: 'r9', durationMs: 77 }),
        ),
      );
      expect(await store.openTurns()).toEqual([]);
      expect(await store.turn('t', 'u')).toMatchObject({ status: 'failed', lastMessageId: 'late', durationMs: 77 });
      const { rows } = await store.items('t', { ...all, turnId: 'u' });
      expect(rows.map(({ seq, item }) => [seq, item.id])).toEqual([
        [3, 'q'],
        [4, 'a'],
        [7, 'late'],
      ]);
      expect(rows[0]?.item).toEqual(question('q', 'done'));
      expect(await store.meta('t')).toMatchObject({
        updatedAtMs: 3000,
        recencyAtMs: 3000,
        failed: true,
        usage: { totalTokens: 7 },
        readState: { firstUnread: { type: 'turn', turnId: 'u' }, revision: 'r9' },
      });
    });

    it('follow names, settings, the archive and what was read', async () => {
      await store.create(threadMeta('t'), at(1, ...wholeTurn('u'), ...wholeTurn('v')));
      expect((await store.meta('t'))?.readState).toEqual({
        firstUnread: { type: 'turn', turnId: 'u' },
        revision: 'r-v',
      });
      const head = (await store.head('t')) as number;
      await store.append(
        't',
        head,
        at(
          9,
          { type: 'threadNamed', name: 'n' },
          { type: 'threadArchived' },
          { type: 'settingsChanged', settings: settings({ model: 'other' }) },
          { type: 'threadRead', throughTurnId: null, revision: 'r7' },
        ),
      );
      expect(await store.meta('t')).toMatchObject({
        name: 'n',
        archived: true,
        settings: { model: 'other' },
        readState: { firstUnread: null, revision: 'r7' },
        preview: 'preview of u',
      });
      await store.append('t', head + 4, at(10, { type: 'threadUnarchived' }));
      expect((await store.meta('t'))?.archived).toBe(false);
    });

    it('cut a long preview without breaking a character', async () => {
      await store.create(threadMeta('t'), at(1, turnStarted('u', `x${'😀'.repeat(100_000)}`)));
      expect((await store.meta('t'))?.preview).toBe(`x${'😀'.repeat(MAX_PREVIEW / 2 - 1)}`);
    });

    it('lose reverted turns with their items and context; the log keeps them', async () => {
      const events = ['a', 'b', 'c'].flatMap(wholeTurn);
      const head = await store.create(threadMeta('t'), at(1, ...events, contextAdded('b', 'late')));
      const reverted: ThreadEvent = { type: 'turnsReverted', firstTurnId: 'b', turnIds: ['b', 'c'] };
      await store.append('t', head, at(2, reverted));
      expect((await store.turns('t', all)).rows.map(({ id }) => id)).toEqual(['a']);
      expect((await store.items('t', all)).rows.map(({ item }) => item.id)).toEqual(['a-q', 'a-a']);
      expect(await store.item('t', 'b-a')).toBeUndefined();
      expect(await store.turn('t', 'b')).toBeUndefined();
      expect((await store.items('t', { ...all, turnId: 'b' })).rows).toEqual([]);
      expect(await store.context('t')).toEqual([{ type: 'note', text: 'context of a' }]);
      expect(await store.meta('t')).toMatchObject({ turnCount: 1, preview: 'preview of a' });
      expect(await seqs('t')).toHaveLength(head + 1);
      await store.append('t', head + 1, at(3, ...wholeTurn('b')));
      expect((await store.item('t', 'b-q'))?.seq).toBe(head + 3);
      expect((await store.items('t', { ...all, turnId: 'b' })).rows).toHaveLength(2);
    });

    it('forget an open turn and its deltas when it is reverted', async () => {
      await store.create(threadMeta('t'), at(1, turnStarted('u'), delta('u', 'i', 'a')));
      await store.append('t', 3, at(2, { type: 'turnsReverted', firstTurnId: 'u', turnIds: ['u'] }));
      expect(await store.openTurns()).toEqual([]);
      expect(await seqs('t')).toEqual([1, 2, 4]);
    });

    it('page both ways, from inside, inclusive or not', async () => {
      const ids = Array.from({ length: 9 }, (_, index) => `u${index}`);
      await store.create(threadMeta('t'), at(1, ...ids.flatMap(wholeTurn)));
      const { rows } = await store.turns('t', all);
      expect(rows.map(({ id }) => id)).toEqual(ids);
      const third = { key: rows[3]?.seq as number };
      const page = async (direction: 'asc' | 'desc', inclusive: boolean, limit: number) => {
        const found = await store.turns('t', { direction, limit, from: { ...third, inclusive } });
        return [...found.rows.map(({ id }) => id), found.hasMore];
      };
      expect(await page('asc', true, 2)).toEqual(['u3', 'u4', true]);
      expect(await page('asc', false, 9)).toEqual(['u4', 'u5', 'u6', 'u7', 'u8', false]);
      expect(await page('desc', true, 4)).toEqual(['u3', 'u2', 'u1', 'u0', false]);
      expect(await page('desc', false, 2)).toEqual(['u2', 'u1', true]);
      const last = await store.items('t', { direction: 'desc', limit: 3 });
      expect(last.rows.map(({ item }) => item.id)).toEqual(['u8-a', 'u8-q', 'u7-a']);
      const ofTurn = await store.items('t', { direction: 'desc', limit: 1, turnId: 'u4' });
      expect([ofTurn.rows[0]?.item.id, ofTurn.hasMore]).toEqual(['u4-a', true]);
    });

    it('end a page early rather than outgrow memory, and say that there is more', async () => {
      const items = Array.from({ length: 12 }, (_, index) => answer(`i${index}`, String(index).repeat(1_000_000)));
      await store.create(threadMeta('t'), at(1, turnStarted('u'), ...items.map((item) => itemCompleted('u', item))));
      const found: string[] = [];
      let pages = 0;
      for (let from: { key: number; inclusive: boolean } | undefined; ; pages += 1) {
        const page = await store.items('t', { ...all, ...(from && { from }) });
        found.push(...page.rows.map(({ item }) => item.id));
        if (!page.hasMore) break;
        from = { key: page.rows.at(-1)?.seq as number, inclusive: false };
      }
      expect(found).toEqual(items.map(({ id }) => id));
      expect(pages).toBeGreaterThan(1);
    });
  });

  describe('list of threads', () => {
    const list = (query: Partial<ThreadQuery> = {}): Promise<Page<{ readonly id: string }>> =>
      store.threads({ archived: false, sortKey: 'updatedAt', direction: 'desc', limit: 100, ...query });
    const ids = async (query: Partial<ThreadQuery> = {}) => (await list(query)).rows.map(({ id }) => id);
    const add = async (id: string, atMs: number, members = {}) => {
      const head = await store.create(threadMeta(id, { createdAtMs: atMs, ...members }), []);
      await store.append(id, head, at(atMs, turnStarted(`${id}-turn`, `about ${id}`)));
    };

    it('shows threads with a turn or a name, each in the list it belongs to', async () => {
      await store.create(threadMeta('empty'), []);
      await store.create(threadMeta('named'), at(1, { type: 'threadNamed', name: 'N' }));
      await add('b', 3000);
      await add('a', 3000);
      await add('c', 2000);
      expect(await ids()).toEqual(['b', 'a', 'c', 'named']);
      expect(await ids({ direction: 'asc' })).toEqual(['named', 'c', 'a', 'b']);
      await store.append('a', 2, at(4000, { type: 'threadArchived' }));
      expect(await ids()).toEqual(['b', 'c', 'named']);
      expect(await ids({ archived: true })).toEqual(['a']);
      await store.append('c', 2, at(9000, turnStarted('again')));
      expect(await ids()).toEqual(['c', 'b', 'named']);
      expect(await ids({ sortKey: 'createdAt' })).toEqual(['b', 'c', 'named']);
      expect(await ids({ sortKey: 'recencyAt', direction: 'asc' })).toEqual(['named', 'b', 'c']);
    });

    it('filters', async () => {
      await add('a', 1, { settings: settings({ cwd: '/one', modelProvider: 'x' }) });
      await add('b', 2, { settings: settings({ cwd: '/two', modelProvider: 'x' }) });
      await add('c', 3, { settings: settings({ cwd: '/two', modelProvider: 'y' }) });
      await store.append('c', 2, at(4, { type: 'threadNamed', name: 'Weaving' }));
      expect(await ids({ cwds: ['/two'] })).toEqual(['c', 'b']);
      expect(await ids({ cwds: ['/two'], modelProviders: ['x'] })).toEqual(['b']);
      expect(await ids({ searchTerm: 'WEAV' })).toEqual(['c']);
      expect(await ids({ searchTerm: 'about A' })).toEqual(['a']);
      expect(await ids({ includedIds: ['a', 'c', 'a', 'none'] })).toEqual(['c', 'a']);
      expect(await ids({ excludedIds: ['c'] })).toEqual(['b', 'a']);
      expect(await ids({ cwds: ['/one', '/two', '/two'], modelProviders: ['x', 'y'] })).toEqual(['c', 'b', 'a']);
      expect(await ids({ cwds: ['/none'] })).toEqual([]);
      expect(await ids({ searchTerm: 'zzz' })).toEqual([]);
      expect(await ids({ searchTerm: 'g' })).toEqual(['c']);
      expect(await list({ includedIds: ['a', 'c'], limit: 1 })).toMatchObject({ hasMore: true, rows: [{ id: 'c' }] });
    });

    it('pages to the end, each thread once, also where times are equal and steps are passed', async () => {
      const names = Array.from({ length: 1203 }, (_, index) => `t${String(index).padStart(4, '0')}`);
      await Promise.all(names.map((id, index) => add(id, 100 + Math.floor(index / 400))));
      for (const direction of ['asc', 'desc'] as const) {
        const found: string[] = [];
        let from: ThreadQuery['from'];
        for (;;) {
          const page = await store.threads({
            archived: false,
            sortKey: 'updatedAt',
            direction,
            limit: 250,
            ...(from && { from }),
          });
          found.push(...page.rows.map(({ id }) => id));
          const last = page.rows.at(-1);
          if (!page.hasMore || last === undefined) break;
          from = { key: { ms: last.updatedAtMs, id: last.id }, inclusive: false };
        }
        expect(found).toEqual(direction === 'asc' ? names : names.toReversed());
      }
      expect(await ids({ searchTerm: 'about t0000', limit: 1 })).toEqual(['t0000']);
      const from = { key: { ms: 100, id: 't0001' }, inclusive: true };
      expect(await ids({ direction: 'asc', limit: 2, from })).toEqual(['t0001', 't0002']);
      expect(await ids({ direction: 'desc', limit: 3, from })).toEqual(['t0001', 't0000']);
    });
  });

  describe('once only', () => {
    it('keeps key and reply with their effect, and refuses the second run', async () => {
      await store.create(threadMeta('t'), [], once('c', { method: 'thread/start' }));
      await store.append('t', 1, at(1, turnStarted('u')), once('k'));
      expect(await store.ledger.find('turn/start', 'k')).toEqual({ fingerprint: 'f', reply: '{"ok":true}' });
      await expect(store.append('t', 2, at(1, turnStarted('v')), once('k'))).rejects.toMatchObject({
        kind: 'conflict',
        data: { kind: 'already_done' },
      });
      await expect(
        store.append('t', 2, at(1, turnStarted('v')), once('k', { fingerprint: 'other' })),
      ).rejects.toMatchObject({ kind: 'conflict', data: { kind: 'idempotency_drift' } });
      expect(await store.head('t')).toBe(2);
      await store.append('t', 2, at(1, turnStarted('v')), once('k', { method: 'turn/steer' }));
      expect(await store.ledger.find('thread/start', 'c')).toBeDefined();
    });

    it('stores no key when the effect is refused', async () => {
      await store.create(threadMeta('t'), []);
      await expect(store.append('t', 7, at(1, turnStarted('u')), once('k'))).rejects.toMatchObject({
        kind: 'conflict',
      });
      await expect(store.create(threadMeta('t'), [], once('k'))).rejects.toMatchObject({ data: { kind: 'exists' } });
      expect(await store.ledger.find('turn/start', 'k')).toBeUndefined();
    });

    it('claims and seals effects outside the store', async () => {
      await store.ledger.claim('fs/writeFile', 'k', 'f');
      expect(await store.ledger.find('fs/writeFile', 'k')).toEqual({ fingerprint: 'f' });
      await expect(store.ledger.claim('fs/writeFile', 'k', 'f')).rejects.toMatchObject({ data: { kind: 'uncertain' } });
      await expect(store.ledger.claim('fs/writeFile', 'k', 'g')).rejects.toMatchObject({
        kind: 'conflict',
        data: { kind: 'idempotency_drift' },
      });
      await store.ledger.seal('fs/writeFile', 'k', '{}');
      expect(await store.ledger.find('fs/writeFile', 'k')).toEqual({ fingerprint: 'f', reply: '{}' });
      await expect(store.ledger.claim('fs/writeFile', 'k', 'f')).rejects.toMatchObject({
        data: { kind: 'already_done' },
      });
      await expect(store.ledger.seal('fs/writeFile', 'none', '{}')).rejects.toMatchObject({ kind: 'notFound' });
    });

    it('frees keys that were claimed and not sealed, and no others', async () => {
      await store.create(threadMeta('t'), [], once('c'));
      await store.ledger.claim('m', 'free', 'f');
      await store.ledger.claim('m', 'sealed', 'f');
      await store.ledger.seal('m', 'sealed', '{}');
      await store.ledger.release('m', 'free');
      await store.ledger.release('m', 'sealed');
      await store.ledger.release('m', 'never');
      await store.ledger.release('turn/start', 'c');
      expect(await store.ledger.find('m', 'free')).toBeUndefined();
      expect(await store.ledger.find('m', 'sealed')).toEqual({ fingerprint: 'f', reply: '{}' });
      expect(await store.ledger.find('turn/start', 'c')).toBeDefined();
      await store.ledger.claim('m', 'free', 'other');
      now += 7 * DAY - 1;
      await store.ledger.claim('m', 'late', 'f');
      expect(await store.ledger.find('m', 'free')).toEqual({ fingerprint: 'other' });
    });

    it('stores all keys of a mutation, of which each refuses it from then on', async () => {
      await store.create(threadMeta('t'), []);
      const both = once('k', { otherKeys: ['message'] });
      const head = await store.append('t', 1, at(1, turnStarted('u')), both);
      for (const key of ['k', 'message']) {
        expect(await store.ledger.find('turn/start', key)).toEqual({
          fingerprint: both.fingerprint,
          reply: both.reply,
        });
        await expect(store.append('t', head, [], once(key))).rejects.toMatchObject({ data: { kind: 'already_done' } });
      }
      const second = once('other', { otherKeys: ['message'] });
      await expect(store.append('t', head, [], second)).rejects.toMatchObject({ data: { kind: 'already_done' } });
      expect(await store.ledger.find('turn/start', 'other')).toBeUndefined();
      await store.remove('t');
      expect(await store.ledger.find('turn/start', 'message')).toBeUndefined();
    });

    it('stores the key of a mutation that changes nothing', async () => {
      await store.create(threadMeta('t'), []);
      const head = await store.append('t', 1, [], once('k'));
      expect(head).toBe(1);
      expect(await store.ledger.find('turn/start', 'k')).toBeDefined();
    });

    it('forgets keys without a thread after seven days, and keys of a thread with the thread', async () => {
      await store.create(threadMeta('t'), [], once('c'));
      await store.ledger.claim('m', 'k', 'f');
      now += 7 * DAY + 1;
      expect(await store.ledger.find('m', 'k')).toBeUndefined();
      expect(await store.ledger.find('turn/start', 'c')).toBeDefined();
      await store.ledger.claim('m', 'k', 'anew');
      expect(await store.ledger.find('m', 'k')).toEqual({ fingerprint: 'anew' });
      await store.remove('t', once('r', { method: 'thread/delete' }));
      expect(await store.ledger.find('turn/start', 'c')).toBeUndefined();
      expect(await store.ledger.find('thread/delete', 'r')).toBeDefined();
    });

    it('takes keys and names of any kind and length', async () => {
      const odd = [`${'k'.repeat(5000)}`, 'ключ\u0000', '', '#', '\uffff'];
      for (const key of odd) await store.ledger.claim('m', key, key);
      for (const key of odd) expect(await store.ledger.find('m', key)).toEqual({ fingerprint: key });
      const item = answer('ид'.repeat(500), 'x');
      await store.create(threadMeta('t'), at(1, turnStarted('u'), itemCompleted('u', item)));
      expect((await store.item('t', item.id))?.item).toEqual(item);
    });
  });

  describe('forks', () => {
    const fork = (id: string, members = {}) => threadMeta(id, { createdAtMs: 5000, forkedFromId: 't', ...members });

    it('have the turns, items and context of their source under the same ids and numbers, and go on alone', async () => {
      const head = await store.create(threadMeta('t'), at(1, ...wholeTurn('a'), ...wholeTurn('b')));
      await store.append('t', head, at(2, { type: 'threadNamed', name: 'source' }, { type: 'threadArchived' }));
      const forked = await store.fork('t', head, fork('f'), once('k', { method: 'thread/fork' }));
      expect((await store.turns('f', all)).rows).toEqual((await store.turns('t', all)).rows);
      expect((await store.items('f', all)).rows).toEqual((await store.items('t', all)).rows);
      expect(await store.context('f')).toEqual(await store.context('t'));
      expect(await store.meta('f')).toMatchObject({
        turnCount: 2,
        name: null,
        archived: false,
        preview: 'preview of a',
        updatedAtMs: 5000,
        readState: { firstUnread: null, revision: 'r0' },
      });
      expect((await store.ledger.find('thread/fork', 'k'))?.reply).toBe('{"ok":true}');
      await store.append('f', forked, at(6000, ...wholeTurn('c')));
      expect((await store.turns('t', all)).rows.map(({ id }) => id)).toEqual(['a', 'b']);
      await store.remove('t');
      expect((await store.items('f', all)).rows).toHaveLength(6);
    });

    it('end where they were asked to, whatever happened to the source since', async () => {
      const head = await store.create(threadMeta('t'), at(1, ...wholeTurn('a'), ...wholeTurn('b')));
      const reverted: ThreadEvent = { type: 'turnsReverted', firstTurnId: 'a', turnIds: ['a', 'b'] };
      await store.append('t', head, at(2, reverted));
      await store.fork('t', 8, fork('f'));
      expect((await store.turns('f', all)).rows.map(({ id, status }) => [id, status])).toEqual([['a', 'completed']]);
      expect((await store.items('f', all)).rows.map(({ item }) => item.id)).toEqual(['a-q', 'a-a']);
      expect(await store.context('f')).toEqual([{ type: 'note', text: 'context of a' }]);
      await store.fork('f', (await store.head('f')) as number, fork('g', { forkedFromId: 'f' }));
      expect((await store.turns('g', all)).rows.map(({ id }) => id)).toEqual(['a']);
    });

    it('end an open turn as interrupted, with the text so far and an output for every call', async () => {
      const call = { type: 'toolCall' as const, callId: 'c', name: 'n', arguments: '{}' };
      await store.create(threadMeta('t'), at(1, turnStarted('u'), itemStarted('u', answer('i'))));
      await store.append(
        't',
        3,
        at(
          2,
          delta('u', 'i', 'one ', 'two '),
          { type: 'contextAdded', turnId: 'u', items: [call] },
          delta('u', 'i', 'no'),
        ),
      );
      await store.fork('t', 6, fork('f'));
      expect(await store.turn('f', 'u')).toMatchObject({ status: 'interrupted', lastMessageId: 'i' });
      expect((await store.item('f', 'i'))?.item).toMatchObject({ text: 'one two ', completedAtMs: now });
      expect(await store.context('f')).toMatchObject([call, { type: 'toolOutput', callId: 'c' }, { type: 'note' }]);
      expect((await store.openTurns()).map(({ threadId }) => threadId)).toEqual(['t']);
      expect(await store.turn('t', 'u')).toMatchObject({ status: 'inProgress' });
    });

    it('keep long values of their own', async () => {
      const long = 'w'.repeat(70_000);
      const head = await store.create(threadMeta('t'), at(1, turnStarted('u'), itemCompleted('u', answer('l', long))));
      await store.append('t', head, at(1, turnCompleted('u')));
      await store.fork('t', head + 1, fork('f'));
      await store.remove('t');
      expect((await store.item('f', 'l'))?.item).toMatchObject({ text: long });
    });

    it('are refused without a source, behind its end, and under an id that is taken', async () => {
      await store.create(threadMeta('t'), []);
      await expect(store.fork('x', 1, fork('f'))).rejects.toMatchObject({ kind: 'notFound' });
      await expect(store.fork('t', 2, fork('f'))).rejects.toMatchObject({ kind: 'invalid' });
      await expect(store.fork('t', 1, threadMeta('t'))).rejects.toMatchObject({ data: { kind: 'exists' } });
      await store.fork('t', 1, fork('f'));
      expect(await store.meta('f')).toMatchObject({ turnCount: 0 });
    });
  });

  it('removes a thread with everything of it, and the id is free again', async () => {
    const long = 'z'.repeat(70_000);
    const turns = Array.from({ length: 120 }, (_, index) => wholeTurn(`u${index}`));
    await store.create(
      threadMeta('t'),
      at(1, ...turns.flat(), turnStarted('open'), itemCompleted('open', answer('l', long))),
    );
    await store.create(threadMeta('other'), at(1, turnStarted('o'), itemCompleted('o', answer('l', long))));
    const removing = store.remove('t');
    await expect(Promise.all([removing, store.remove('t')])).rejects.toMatchObject({ kind: 'notFound' });
    await removing;
    expect(await store.meta('t')).toBeUndefined();
    expect(await store.events('t', 0, 10)).toEqual([]);
    expect((await store.items('t', all)).rows).toEqual([]);
    expect((await store.openTurns()).map(({ threadId }) => threadId)).toEqual(['other']);
    expect((await store.item('other', 'l'))?.item).toMatchObject({ text: long });
    await expect(store.remove('t')).rejects.toMatchObject({ kind: 'notFound' });
    expect(await store.create(threadMeta('t'), [])).toBe(1);
    expect((await store.turns('t', all)).rows).toEqual([]);
  });

  it('keeps tenants apart', async () => {
    const other = history.forTenant('other');
    await store.create(threadMeta('t'), at(1, ...wholeTurn('u')), once('k'));
    expect(await other.meta('t')).toBeUndefined();
    expect(await other.ledger.find('turn/start', 'k')).toBeUndefined();
    await other.create(threadMeta('t', { name: 'theirs' }), []);
    expect((await store.meta('t'))?.name).toBeNull();
    expect(() => history.forTenant('')).toThrow();
    expect(() => history.forTenant('a\u0000b')).toThrow();
  });

  it('refuses writes once it is closed', async () => {
    await store.create(threadMeta('t'), []);
    await history.close();
    await expect(store.append('t', 1, at(1, turnStarted('u')))).rejects.toMatchObject({ kind: 'unavailable' });
    await history.close();
  });
});
