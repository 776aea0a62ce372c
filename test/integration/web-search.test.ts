// Searches that a provider makes by itself within an answer: shown while they run and when they have ended.

import { afterEach, expect, test } from 'vitest';
import { responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, itemsOf, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

const search = (id: string, status: string, action: object) => ({ type: 'web_search_call', id, status, action });
const begun = (item: object) => responses.event('response.output_item.added', { output_index: 0, item });
const done = (item: object) => responses.event('response.output_item.done', { output_index: 0, item });
const weather = { type: 'search', query: 'weather' };

async function turnWith(...frames: string[]) {
  const model = await startModelServer(
    stream([responses.created(), ...frames, ...responses.message('m', ['sunny']), responses.completed()]),
  );
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client, { cwd: server.workspace });
  await completed(client, await startTurn(client, threadId, 'search'));
  const searches = (await itemsOf(client, threadId)).filter(({ type }) => type === 'webSearch');
  return { client, searches };
}

test('a search is begun with what is sought, and ended with all that was', async () => {
  const { client, searches } = await turnWith(
    begun(search('ws_1', 'in_progress', weather)),
    done(search('ws_1', 'completed', { ...weather, queries: ['weather', 'weather today'] })),
  );
  const [started] = client.news('item/started').filter(({ item }) => item.type === 'webSearch');
  expect(started!.item).toMatchObject({ id: 'ws_1', query: 'weather', action: { ...weather, queries: null } });
  expect(searches).toMatchObject([
    { id: 'ws_1', query: 'weather', action: { ...weather, queries: ['weather', 'weather today'] }, results: null },
  ]);
  expect(searches[0]!.startedAtMs).toBe(started!.item.startedAtMs);
});

test('one that comes whole, pages that are opened, and ones that are never ended are all completed', async () => {
  const { client, searches } = await turnWith(
    done(search('ws_1', 'completed', { type: 'open_page', url: 'https://weather.example/' })),
    begun(search('ws_2', 'in_progress', weather)),
    begun(search('ws_3', 'in_progress', { type: 'find_in_page', url: 'u', pattern: 'rain' })),
    done(search('ws_3', 'completed', { type: 'made up' })),
    begun(search('ws_4', 'in_progress', weather)),
  );
  expect(searches.map(({ id, query, action }) => [id, query, action.type])).toEqual([
    ['ws_1', 'https://weather.example/', 'openPage'],
    ['ws_2', 'weather', 'search'],
    ['ws_3', '', 'other'],
    ['ws_4', 'weather', 'search'],
  ]);
  const ended = client.news('item/completed').map(({ item }) => item.id);
  for (const { id } of searches) expect(ended.filter((each) => each === id)).toHaveLength(1);
});
