// The everyday moves of a client: a thread, a turn, its end.

import type { Received, TestClient } from './test-client.ts';

export const text = (words: string) => [{ type: 'text', text: words }];

export async function startThread(client: TestClient, params: object = {}): Promise<string> {
  return (await client.request('thread/start', params)).thread.id;
}

/** Starts a turn and gives its id; it runs on. */
export async function startTurn(client: TestClient, threadId: string, words: string, params: object = {}) {
  const { turn } = await client.request('turn/start', { threadId, input: text(words), ...params });
  return turn.id as string;
}

export async function completed(client: TestClient, turnId: string): Promise<Received> {
  return (await client.notified('turn/completed', ({ turn }) => turn.id === turnId)).turn;
}

/** A whole turn, from its start to its end. */
export async function runTurn(client: TestClient, threadId: string, words: string, params: object = {}) {
  return completed(client, await startTurn(client, threadId, words, params));
}

/** All items of a thread as its pages show them, oldest first. */
export async function itemsOf(client: TestClient, threadId: string): Promise<Received[]> {
  const items: Received[] = [];
  let cursor: string | null = null;
  do {
    const page: Received = await client.request('thread/items/list', { threadId, cursor });
    items.push(...page.data.map((entry: Received) => entry.item));
    cursor = page.nextCursor;
  } while (cursor !== null);
  return items;
}

export const itemCompleted = (client: TestClient, match: (item: Received) => boolean): Promise<Received> =>
  client.notified('item/completed', ({ item }) => match(item)).then(({ item }) => item);

/** The text that was streamed for an item. */
export const streamedText = (client: TestClient, itemId: string, method = 'item/agentMessage/delta'): string =>
  client
    .news(method)
    .filter((each) => each.itemId === itemId)
    .map((each) => each.delta)
    .join('');
