// Finding what was said: in which threads, and where in one; over restarts, and never what was taken away.

import { afterEach, describe, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, runTurn, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

const EXPERIMENTAL = { experimentalApi: true };

const found = async (client: TestClient, searchTerm: string, params: object = {}): Promise<string[]> =>
  (await client.request('thread/search', { searchTerm, ...params })).data.map((each: Received) => each.thread.id);

/** A thread whose first input, which is its preview, does not say it. */
async function threadThatSays(client: TestClient, ...said: string[]): Promise<string> {
  const threadId = await startThread(client);
  await runTurn(client, threadId, 'say nothing');
  for (const each of said) await runTurn(client, threadId, `say ${each}`);
  return threadId;
}

describe('threads are found', () => {
  test('by words of any turn, with what is around them, over a restart', async () => {
    const server = await startApp();
    const client = await server.connect(EXPERIMENTAL);
    const wanted = await threadThatSays(client, 'the quick brown Fox jumps');
    await threadThatSays(client, 'brown bread', 'quick answers');
    for (const restarts of [false, true]) {
      if (restarts) await server.restart();
      const later = await server.connect(EXPERIMENTAL);
      for (const term of ['fox', 'quick brown', 'QUICK BROWN FO', '  brown fox ', 'jum']) {
        expect(await found(later, term)).toEqual([wanted]);
      }
      for (const term of ['fox quick', 'rown fox', 'foxes', 'zebra']) expect(await found(later, term)).toEqual([]);
      const { data } = await later.request('thread/search', { searchTerm: 'brown f' });
      expect(data[0].snippet).toContain('the quick brown Fox jumps');
      expect(data[0].thread).toMatchObject({ id: wanted, preview: 'say nothing', turns: [] });
    }
  });

  test('by what is written without spaces, and by part of a name or preview', async () => {
    const server = await startApp();
    const client = await server.connect(EXPERIMENTAL);
    const japanese = await threadThatSays(client, '全文検索エンジンを作る');
    const korean = await threadThatSays(client, '검색어를 입력하세요');
    for (const term of ['検索', '文検索エ', '索', '作る']) expect(await found(client, term)).toEqual([japanese]);
    expect(await found(client, '검색')).toEqual([korean]);
    expect(await found(client, '索検')).toEqual([]);
    await client.request('thread/name/set', { threadId: korean, name: 'Unmistakable' });
    expect(await found(client, 'mistak')).toEqual([korean]);
  });

  test('in the order asked for, page by page, both ways', async () => {
    const server = await startApp();
    const client = await server.connect(EXPERIMENTAL);
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) ids.push(await threadThatSays(client, `apple number ${index}`));
    const newest = [...ids].reverse();
    expect(await found(client, 'apple')).toEqual(newest);
    expect(await found(client, 'apple', { sortDirection: 'asc' })).toEqual(ids);
    await runTurn(client, ids[1] as string, 'say more');
    expect((await found(client, 'apple', { sortKey: 'updated_at' }))[0]).toBe(ids[1]);
    const walked: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Received = await client.request('thread/search', { searchTerm: 'apple', limit: 2, cursor });
      walked.push(...page.data.map((each: Received) => each.thread.id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(walked).toEqual(newest);
    const first = await client.request('thread/search', { searchTerm: 'apple', limit: 2 });
    const other = { searchTerm: 'apples', cursor: first.nextCursor };
    expect((await client.refusal('thread/search', other)).code).toBe(-32602);
    const second = await client.request('thread/search', { searchTerm: 'apple', limit: 2, cursor: first.nextCursor });
    const back = { sortDirection: 'asc', cursor: second.backwardsCursor };
    expect(await found(client, 'apple', back)).toEqual(newest.slice(0, 2).reverse());
    await client.request('thread/archive', { threadId: ids[0] });
    expect(await found(client, 'apple')).toHaveLength(4);
    expect(await found(client, 'apple', { archived: true })).toEqual([ids[0]]);
    expect(await found(client, 'apple', { sourceKinds: ['cli'] })).toEqual([]);
  });

  test('no more by what was reverted or deleted, and a copy by what it has', async () => {
    const server = await startApp();
    const client = await server.connect(EXPERIMENTAL);
    const threadId = await threadThatSays(client, 'first secret', 'second secret');
    expect(await found(client, 'second secret')).toEqual([threadId]);
    const fork = (await client.request('thread/fork', { threadId })).thread.id;
    expect(await found(client, 'second secret')).toEqual([fork, threadId]);
    const { data } = await client.request('thread/turns/list', { threadId, limit: 1 });
    await client.request('thread/revert', { threadId, beforeTurnId: data[0].id });
    expect(await found(client, 'second secret')).toEqual([fork]);
    expect(await found(client, 'first secret')).toEqual([fork, threadId]);
    await client.request('thread/delete', { threadId: fork });
    await server.restart();
    const later = await server.connect(EXPERIMENTAL);
    expect(await found(later, 'second secret')).toEqual([]);
    expect(await found(later, 'first secret')).toEqual([threadId]);
    await later.request('thread/resume', { threadId });
    await runTurn(later, threadId, 'say third secret');
    expect(await found(later, 'third secret')).toEqual([threadId]);
  });

  test('when the turn has ended, however it did; and never those of others', async () => {
    const server = await startApp();
    const client = await server.connect(EXPERIMENTAL);
    const threadId = await threadThatSays(client);
    const turnId = await startTurn(client, threadId, 'hang on the unfinished');
    await client.notified('turn/started', ({ turn }) => turn.id === turnId);
    expect(await found(client, 'unfinished')).toEqual([]);
    await client.request('turn/interrupt', { threadId, turnId });
    await completed(client, turnId);
    expect(await found(client, 'unfinished')).toEqual([threadId]);
    const ephemeral = (await client.request('thread/start', { ephemeral: true })).thread.id;
    await runTurn(client, ephemeral, 'say ephemeral words');
    expect(await found(client, 'ephemeral words')).toEqual([]);
    for (const searchTerm of ['', '   ', 'x'.repeat(257)]) {
      expect((await client.refusal('thread/search', { searchTerm })).code).toBe(-32602);
    }
    expect((await client.refusal('thread/list', { searchTerm: 'x'.repeat(257) })).code).toBe(-32602);
    for (const searchTerm of ['...', '"', '\\', '(', '%', '\u0000', '\ud800', '😀']) {
      expect(await found(client, searchTerm)).toEqual([]);
    }
  });
});

describe('places in a thread are found', () => {
  test('one after the other, with the turn to open', async () => {
    const server = await startApp();
    const client = await server.connect(EXPERIMENTAL);
    const threadId = await threadThatSays(client, 'needle and Needle', 'hay', 'a needlework');
    const all = (await client.request('thread/searchOccurrences', { threadId, searchTerm: 'needle' })).data;
    const items = await itemsOf(client, threadId);
    const textOf = (item: Received): string => item.text ?? item.content[0].text;
    const expected = items.flatMap((item) => [...textOf(item).matchAll(/needle/gi)].map(() => item.id));
    expect(all.map((each: Received) => each.itemId)).toEqual(expected);
    for (const { snippet, snippetMatchRange: range } of all) {
      expect(snippet.slice(range.start, range.end).toLowerCase()).toBe('needle');
    }
    const last = all.at(-1);
    const opened = await client.request('thread/turns/list', { threadId, cursor: last.turnCursor, limit: 1 });
    expect(opened.data[0].id).toBe(last.turnId);
    const walked: Received[] = [];
    let cursor: string | null = null;
    do {
      const params = { threadId, searchTerm: 'needle', limit: 1, cursor };
      const page: Received = await client.request('thread/searchOccurrences', params);
      walked.push(...page.data);
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(walked).toEqual(all);
  });

  test('also inside of words and in ephemeral threads, not in what was reverted', async () => {
    const server = await startApp();
    const client = await server.connect(EXPERIMENTAL);
    const { thread } = await client.request('thread/start', { ephemeral: true });
    await runTurn(client, thread.id, 'say haystack');
    const places = async (threadId: string, searchTerm: string) =>
      (await client.request('thread/searchOccurrences', { threadId, searchTerm })).data;
    expect((await places(thread.id, 'ysta')).length).toBeGreaterThan(0);
    const threadId = await threadThatSays(client, 'haystack');
    const { data } = await client.request('thread/turns/list', { threadId, limit: 1 });
    expect(await places(threadId, 'haystack')).not.toEqual([]);
    await client.request('thread/revert', { threadId, beforeTurnId: data[0].id });
    expect(await places(threadId, 'haystack')).toEqual([]);
    const refusal = (params: object) => client.refusal('thread/searchOccurrences', params);
    expect((await refusal({ threadId: 'none', searchTerm: 'x' })).code).toBe(-32004);
    expect((await refusal({ threadId, searchTerm: ' ' })).code).toBe(-32602);
    expect((await refusal({ threadId, searchTerm: 'x'.repeat(257) })).code).toBe(-32602);
    expect((await refusal({ threadId, searchTerm: 'x', cursor: 'garbage' })).code).toBe(-32602);
  });
});
