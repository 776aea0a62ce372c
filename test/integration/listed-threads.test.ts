// Which threads are in the list before they have a turn: those that somebody has told from others, or put something into.

import { afterEach, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { runTurn, startThread } from '../harness/turns.ts';

afterEach(cleanUp);

const idsOf = (found: Received): string[] => found.data.map((each: Received) => (each.thread ?? each).id);
const PINNED = '01984de2-8f74-7c91-a3b2-5c5e937cf318';

/** Makes a thread of it that belongs to somebody. */
const MARKS: Readonly<Record<string, (client: TestClient) => Promise<string>>> = {
  title: (client) => startThread(client, { title: 'Mine' }),
  metadata: (client) => startThread(client, { metadata: { from: 'here' } }),
  name: async (client) => marked(client, 'thread/name/set', { name: 'Named' }),
  goal: async (client) => marked(client, 'thread/goal/set', { objective: 'To be done' }),
  section: async (client) => marked(client, 'thread/section/move', { sectionId: PINNED }),
  attachment: async (client) =>
    marked(client, 'thread/attachment/add', { attachmentType: 'x', identityKey: 'k', payload: { a: 1 } }),
};

async function marked(client: TestClient, method: string, params: object): Promise<string> {
  const threadId = await startThread(client);
  await client.request(method, { threadId, ...params });
  return threadId;
}

test.each(Object.keys(MARKS))(
  'one with a %s is listed, also after a restart; one as it was begun is not',
  async (mark) => {
    const server = await startApp();
    const client = await server.connect();
    const untouched = await startThread(client);
    const threadId = await MARKS[mark]!(client);
    expect(idsOf(await client.request('thread/list', {}))).toEqual([threadId]);
    await server.restart();
    const later = await server.connect();
    expect(idsOf(await later.request('thread/list', {}))).toEqual([threadId]);
    expect((await later.request('thread/read', { threadId: untouched })).thread.id).toBe(untouched);
  },
);

test('a title is found by a part of it, that of a fork too, and by nothing else', async () => {
  const server = await startApp();
  const client = await server.connect({ experimentalApi: true });
  const titled = await startThread(client, { title: 'Überarbeitung der Kasse' });
  const source = await startThread(client);
  await runTurn(client, source, 'say one');
  const forked = (await client.request('thread/fork', { threadId: source, title: 'Second attempt' })).thread.id;
  for (const method of ['thread/list', 'thread/search']) {
    const found = async (searchTerm: string) => idsOf(await client.request(method, { searchTerm }));
    expect(await found('überarb'), method).toEqual([titled]);
    expect(await found('second ATT'), method).toEqual([forked]);
    expect(await found('third attempt'), method).toEqual([]);
  }
});

test('a thread that begins with a goal is known by it, then and later', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await MARKS.goal!(client);
  await client.request('thread/goal/clear', { threadId });
  await runTurn(client, threadId, 'say one');
  expect((await client.request('thread/list', { searchTerm: 'be done' })).data).toMatchObject([
    { id: threadId, preview: 'To be done' },
  ]);
});
