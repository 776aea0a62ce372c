// Sections: named groups of threads, ordered by hand, kept over restarts.

import { afterEach, describe, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { runTurn, startThread } from '../harness/turns.ts';

afterEach(cleanUp);

const PINNED = '01984de2-8f74-7c91-a3b2-5c5e937cf318';

const sectionsOf = async (client: TestClient): Promise<Received[]> =>
  (await client.request('threadSection/list', {})).data;
const create = async (client: TestClient, name: string): Promise<string> =>
  (await client.request('threadSection/create', { name })).section.id;
const idsOf = async (client: TestClient, params: object): Promise<string[]> =>
  (await client.request('thread/list', params)).data.map((each: Received) => each.id);
const inOrder = (client: TestClient, sectionId: string): Promise<string[]> =>
  idsOf(client, { sectionId, sortKey: 'section_position' });

async function threads(client: TestClient, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    ids.push(await startThread(client));
    await runTurn(client, ids[index] as string, `say ${index}`);
  }
  return ids;
}

describe('the list of sections', () => {
  test('begins with the built-in one, which stays as it is', async () => {
    const server = await startApp();
    const client = await server.connect();
    expect(await sectionsOf(client)).toEqual([{ id: PINNED, name: 'Pinned', appearance: null }]);
    expect((await client.refusal('threadSection/delete', { sectionId: PINNED })).code).toBe(-32602);
    expect((await client.refusal('threadSection/update', { sectionId: PINNED, name: 'x' })).code).toBe(-32602);
  });

  test('is changed, paged and kept', async () => {
    const server = await startApp();
    const client = await server.connect();
    const looks = { icon: 'star', color: 'red' };
    const [work, fancy] = [
      await create(client, ' Work '),
      (await client.request('threadSection/create', { name: 'Fancy', appearance: looks })).section,
    ];
    expect(fancy).toMatchObject({ name: 'Fancy', appearance: looks });
    const renamed = await client.request('threadSection/update', { sectionId: fancy.id, name: 'Plain' });
    expect(renamed.section).toMatchObject({ name: 'Plain', appearance: looks });
    await client.request('threadSection/update', { sectionId: fancy.id, name: 'Plain', appearance: null });
    for (const name of ['', '  ', 'x'.repeat(1001)]) {
      expect((await client.refusal('threadSection/create', { name })).code).toBe(-32602);
    }
    for (const appearance of [{ icon: 'x'.repeat(257) }, { color: 'x'.repeat(257) }]) {
      expect((await client.refusal('threadSection/create', { name: 'x', appearance })).code).toBe(-32602);
      const update = { sectionId: fancy.id, name: 'x', appearance };
      expect((await client.refusal('threadSection/update', update)).code).toBe(-32602);
    }
    expect((await client.refusal('threadSection/update', { sectionId: 'none', name: 'x' })).code).toBe(-32004);
    await server.restart();
    const later = await server.connect();
    const names: string[] = [];
    for (let cursor = null; ; ) {
      const page = await later.request('threadSection/list', { limit: 1, cursor });
      names.push(...page.data.map((each: Received) => each.name));
      cursor = page.nextCursor;
      if (cursor === null) break;
    }
    expect(names).toEqual(['Pinned', 'Work', 'Plain']);
    expect((await sectionsOf(later))[2]).toMatchObject({ appearance: null });
    await later.request('threadSection/delete', { sectionId: work });
    expect((await later.refusal('threadSection/delete', { sectionId: work })).code).toBe(-32004);
    expect((await later.refusal('threadSection/list', { cursor: 'garbage' })).code).toBe(-32602);
  });

  test('takes a repeated request once', async () => {
    const server = await startApp();
    const client = await server.connect();
    const params = { name: 'Once', idempotencyKey: 'k' };
    const first = await client.request('threadSection/create', params);
    await server.restart();
    const later = await server.connect();
    expect(await later.request('threadSection/create', params)).toEqual(first);
    expect(await sectionsOf(later)).toHaveLength(2);
    expect((await later.refusal('threadSection/create', { ...params, name: 'Twice' })).code).toBe(-32009);
  });
});

describe('threads in a section', () => {
  test('are in the order in which they were put, and everyone is told', async () => {
    const server = await startApp();
    const [client, other] = [await server.connect(), await server.connect()];
    const [a, b, c] = (await threads(client, 3)) as [string, string, string];
    const sectionId = await create(client, 'Work');
    for (const threadId of [a, b]) await client.request('thread/section/move', { threadId, sectionId });
    await client.request('thread/section/move', { threadId: c, sectionId, beforeThreadId: b });
    for (const each of [client, other]) {
      await each.notified('thread/section/changed', (news) => news.threadId === c && news.sectionId === sectionId);
    }
    expect(await inOrder(client, sectionId)).toEqual([a, c, b]);
    expect(await idsOf(client, { sectionId, sortKey: 'section_position', sortDirection: 'desc' })).toEqual([b, c, a]);
    await client.request('thread/section/move', { threadId: a, sectionId });
    await client.request('thread/section/move', { threadId: b, sectionId, beforeThreadId: c });
    await client.request('thread/section/move', { threadId: c, sectionId, beforeThreadId: c });
    await server.restart();
    const later = await server.connect();
    expect(await inOrder(later, sectionId)).toEqual([b, c, a]);
    expect(await idsOf(later, { sectionId })).toEqual([c, b, a]);
    expect(await idsOf(later, { sectionId: null })).toEqual([]);
    const first = await later.request('thread/list', { sectionId, sortKey: 'section_position', limit: 2 });
    const rest = { sectionId, sortKey: 'section_position', cursor: first.nextCursor };
    expect(await idsOf(later, rest)).toEqual([a]);
  });

  test('show it by its present name, and when they came', async () => {
    const server = await startApp();
    const client = await server.connect();
    const [threadId] = (await threads(client, 1)) as [string];
    const sectionId = await create(client, 'Work');
    await client.request('thread/section/move', { threadId, sectionId });
    await client.request('threadSection/update', { sectionId, name: 'Rest' });
    await server.restart();
    const later = await server.connect();
    for (const shown of [
      (await later.request('thread/list', {})).data[0],
      (await later.request('thread/read', { threadId })).thread,
      (await later.request('thread/resume', { threadId })).thread,
    ]) {
      expect(shown.section).toEqual({ id: sectionId, name: 'Rest', appearance: null });
      expect(shown.sectionEnteredAt).toEqual(expect.any(Number));
    }
    await later.request('thread/section/move', { threadId, sectionId: null });
    const out = await later.notified('thread/section/changed', (news) => news.sectionId === null);
    expect(out).toEqual({ threadId, sectionId: null });
    expect((await later.request('thread/read', { threadId })).thread).toMatchObject({
      section: null,
      sectionEnteredAt: null,
    });
  });

  test('are free when it is deleted, and leave it when they are', async () => {
    const server = await startApp();
    const client = await server.connect();
    const [a, b] = (await threads(client, 2)) as [string, string];
    const [gone, kept] = [await create(client, 'Gone'), await create(client, 'Kept')];
    await client.request('thread/section/move', { threadId: a, sectionId: gone });
    for (const threadId of [b]) await client.request('thread/section/move', { threadId, sectionId: kept });
    await client.request('threadSection/delete', { sectionId: gone });
    await client.request('thread/delete', { threadId: b });
    for (const restarts of [false, true]) {
      if (restarts) await server.restart();
      const later = await server.connect();
      expect((await later.request('thread/read', { threadId: a })).thread.section).toBeNull();
      expect(await idsOf(later, { sectionId: gone })).toEqual([]);
      expect(await idsOf(later, { sectionId: null })).toEqual([a]);
      expect(await idsOf(later, { sectionId: kept })).toEqual([]);
    }
  });

  test('of another archive keep their places', async () => {
    const server = await startApp();
    const client = await server.connect();
    const [a, b, c] = (await threads(client, 3)) as [string, string, string];
    for (const threadId of [a, b, c]) await client.request('thread/section/move', { threadId, sectionId: PINNED });
    await client.request('thread/archive', { threadId: b });
    expect(await inOrder(client, PINNED)).toEqual([a, c]);
    expect(await idsOf(client, { sectionId: PINNED, archived: true })).toEqual([b]);
    await client.request('thread/unarchive', { threadId: b });
    expect(await inOrder(client, PINNED)).toEqual([a, b, c]);
  });

  test('are not moved to nowhere, from nowhere, or before a stranger', async () => {
    const server = await startApp();
    const client = await server.connect();
    const [a, b] = (await threads(client, 2)) as [string, string];
    const refusal = async (params: object) => (await client.refusal('thread/section/move', params)).code;
    expect(await refusal({ threadId: a, sectionId: 'none' })).toBe(-32004);
    expect(await refusal({ threadId: 'none', sectionId: PINNED })).toBe(-32004);
    expect(await refusal({ threadId: a, sectionId: PINNED, beforeThreadId: b })).toBe(-32602);
    expect(await refusal({ threadId: a, sectionId: null, beforeThreadId: b })).toBe(-32602);
    const { thread } = await client.request('thread/start', { ephemeral: true });
    expect(await refusal({ threadId: thread.id, sectionId: PINNED })).toBe(-32602);
    expect((await client.refusal('thread/list', { sortKey: 'section_position' })).code).toBe(-32602);
  });

  test('many at once all get a place, and a copy of a thread gets none', async () => {
    const server = await startApp();
    const client = await server.connect();
    const ids = await threads(client, 6);
    const move = (threadId: string) =>
      client.request('thread/section/move', { threadId, sectionId: PINNED, beforeThreadId: ids[0] });
    await client.request('thread/section/move', { threadId: ids[0], sectionId: PINNED });
    await Promise.all(ids.slice(1).map(move));
    expect(await inOrder(client, PINNED)).toEqual([...ids.slice(1), ids[0]]);
    const fork = await client.request('thread/fork', { threadId: ids[0] });
    expect(fork.thread.section).toBeNull();
    expect(await idsOf(client, { sectionId: null })).toEqual([fork.thread.id]);
  });
});
