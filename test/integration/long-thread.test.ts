// A thread of very many items: it opens in pages that fit, says that there is more, and gives all of it to who asks.

import { afterEach, expect, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { openLmdbHistory } from '../../src/history/lmdb.ts';
import type { ThreadEvent } from '../../src/model/event.ts';
import { userMessage } from '../../src/model/item.ts';
import {
  answer,
  at,
  itemCompleted,
  itemStarted,
  threadMeta,
  turnCompleted,
  turnStarted,
} from '../harness/history-events.ts';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { runTurn } from '../harness/turns.ts';

afterEach(cleanUp);

/** 50,000 and 200 by command. */
const ITEMS = Number(process.env.HEDDLE_ITEMS ?? 3_000);
const IMAGES = Number(process.env.HEDDLE_IMAGES ?? 12);
const TURN_ITEMS = 50;
const MIB = 2 ** 20;
const LARGEST_FRAME = 16 * MIB;
const threadId = 'long';

/** Every so many-th question has an image, and one answer is very long. */
function turn(index: number): ThreadEvent[] {
  const turnId = `turn-${index}`;
  const events: ThreadEvent[] = [turnStarted(turnId)];
  for (let place = 0; place < TURN_ITEMS; place += 1) {
    const id = `${turnId}-${String(place).padStart(2, '0')}`;
    const hasImage = place === 0 && index < IMAGES;
    const isLong = index === 3 && place === 1;
    const url = `data:image/png;base64,${'A'.repeat(MIB)}`;
    const asked = userMessage(
      id,
      [hasImage ? { type: 'image', url, detail: null } : { type: 'text', text: `question ${id}`, text_elements: [] }],
      null,
      1,
    );
    const item =
      place % 2 === 0
        ? { ...asked, completedAtMs: 2 }
        : { ...answer(id, isLong ? 'x'.repeat(4 * MIB) : `an answer to ${id}`), completedAtMs: 2 };
    events.push(itemStarted(turnId, item), itemCompleted(turnId, item));
  }
  return [...events, turnCompleted(turnId)];
}

async function stored(): Promise<string> {
  const directory = await temporaryFolder();
  const history = await openLmdbHistory({ directory, log: silentLog() });
  const store = history.forTenant('local');
  let head = await store.create(threadMeta(threadId), []);
  for (let index = 0; index * TURN_ITEMS < ITEMS; index += 1)
    head = await store.append(threadId, head, at(5, ...turn(index)));
  await history.close();
  return directory;
}

/** Ids of all items, page after page. */
async function walk(client: TestClient, sortDirection: 'asc' | 'desc'): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: Received = await client.request('thread/turns/list', {
      threadId,
      itemsView: 'full',
      limit: 20,
      sortDirection,
      cursor,
    });
    for (const each of page.data) {
      const found: string[] =
        each.itemsView === 'full' ? each.items.map((item: Received) => item.id) : await itemsOfTurn(client, each.id);
      ids.push(...(sortDirection === 'asc' ? found : found.toReversed()));
    }
    cursor = page.nextCursor;
    if (cursor === null) return ids;
  }
}

async function itemsOfTurn(client: TestClient, turnId: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: Received = await client.request('thread/items/list', { threadId, turnId, cursor });
    ids.push(...page.data.map(({ item }: Received) => item.id));
    cursor = page.nextCursor;
    if (cursor === null) return ids;
  }
}

test(`a thread of ${ITEMS} items opens in what fits, and its pages have every item once`, async () => {
  const server = await startApp({ transport: 'websocket', dataDirectory: await stored() });
  const client = await server.connect({ experimentalApi: true });
  // A client that is not always there to read.
  const reading = setInterval(() => {
    client.wire.pause();
    setImmediate(() => client.wire.resume());
  }, 5);
  try {
    const shown: Received[] = [];
    for (let again = 0; again < 2; again += 1) {
      const answer = await client.request('thread/resume', { threadId });
      shown.push(answer.thread.turns);
      expect(answer.turnsTruncated).toBe(true);
      expect(answer.turnsBackwardsCursor).not.toBeNull();
    }
    expect(shown[1]).toEqual(shown[0]);
    const read = await client.request('thread/read', { threadId, includeTurns: true });
    expect(read.turnsTruncated).toBe(true);
    expect(read.thread.turns).toEqual(shown[0]);
    const turns = Math.ceil(ITEMS / TURN_ITEMS);
    expect(shown[0]!.at(-1)).toMatchObject({ id: `turn-${turns - 1}`, itemsView: 'full' });
    const all = Array.from({ length: turns }, (_, index) =>
      Array.from({ length: TURN_ITEMS }, (_, place) => `turn-${index}-${String(place).padStart(2, '0')}`),
    ).flat();
    expect(await walk(client, 'asc')).toEqual(all);
    expect(await walk(client, 'desc')).toEqual(all.toReversed());
    expect((await runTurn(client, threadId, 'say more')).status).toBe('completed');
  } finally {
    clearInterval(reading);
  }
  for (const message of client.transcript)
    expect(Buffer.byteLength(JSON.stringify(message))).toBeLessThan(LARGEST_FRAME);
}, 600_000);
