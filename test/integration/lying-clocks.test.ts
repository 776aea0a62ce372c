// Clocks that jump, and names that lie about their time: the order is that of acceptance.

import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { liveAnswer } from '../harness/live-answer.ts';
import { startModelServer } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { Received } from '../harness/test-client.ts';
import { completed, itemsOf, runTurn, startThread, startTurn, text } from '../harness/turns.ts';

afterEach(cleanUp);

const HOUR = 3_600_000;

/** The time of day is what the test says; durations go on as they do. */
function lyingClock() {
  let offset = 0;
  return {
    ...systemClock,
    now: () => Date.now() + offset,
    turn(ms: number) {
      offset = ms;
    },
  };
}

test('in mid-turn the clock goes back an hour, then on by two: nothing ends, and the order stays', async () => {
  const answer = liveAnswer();
  const model = await startModelServer(answer.step);
  const clock = lyingClock();
  const server = await startApp({ backend: model, clock });
  const client = await server.connect();
  const threadId = await startThread(client);
  const turnId = await startTurn(client, threadId, 'speak');
  await answer.begin();
  const words = ['one ', 'two ', 'three ', 'four '];
  for (const [index, offset] of [0, -HOUR, -HOUR, 2 * HOUR].entries()) {
    clock.turn(offset);
    await answer.say(words[index]!);
    await client.message((each) => each.params?.delta === words[index]);
  }
  clock.turn(-10 * HOUR);
  await answer.finish();
  expect((await completed(client, turnId)).status).toBe('completed');
  const told = client.notifications().filter((each) => each.seq !== undefined);
  expect(told.map((each) => each.seq)).toEqual(told.map((each) => each.seq).toSorted((a, b) => a - b));
  const [, spoken] = await itemsOf(client, threadId);
  expect(spoken!.text).toBe(words.join(''));
  const { events } = await client.request('thread/read', { threadId, afterEventSeq: 0, limit: 1000 });
  expect(events.map(({ seq }: Received) => seq)).toEqual(
    events.map(({ seq }: Received) => seq).toSorted((a: number, b: number) => a - b),
  );
  await model.close();
});

test('names from 1970 and 2100, and many inputs in one millisecond: one turn each, in the order of acceptance', async () => {
  const clock = { ...systemClock, now: () => Date.UTC(2026, 0, 1) };
  const server = await startApp({ clock });
  const client = await server.connect();
  const ids = ['00000000-0001-7000-8000-000000000001', '03bb2cc3-d800-7000-8000-000000000001'];
  const threadId = await startThread(client, { threadId: ids[1] });
  const other = await startThread(client, { threadId: ids[0] });
  const starts = Array.from({ length: 100 }, (_, index) =>
    client.post('turn/start', {
      threadId,
      input: text(`say ${index}`),
      clientUserMessageId: `${ids[(index + 1) % 2]}-${index}`,
      ifBusy: 'queue',
    }),
  );
  for (const id of starts) await client.answerTo(id, 'turn/start');
  const chosen = { turnId: ids[0]!.replace(/1$/, '9'), clientUserMessageId: ids[1] };
  expect((await runTurn(client, other, 'say x', chosen)).id).toBe(chosen.turnId);
  await client.message(() => client.news('turn/completed').length === 101, 'the end of all turns');
  const items = await itemsOf(client, threadId);
  const asked = items.filter(({ type }) => type === 'userMessage');
  expect(asked.map(({ content }) => content[0].text)).toEqual(starts.map((_, index) => `say ${index}`));
  const answered = items.filter(({ type }) => type === 'agentMessage');
  expect(answered.map((item) => item.text.trim())).toEqual(starts.map((_, index) => String(index)));
  const found: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: Received = await client.request('thread/turns/list', {
      threadId,
      limit: 7,
      sortDirection: 'asc',
      cursor,
    });
    found.push(...page.data.map((turn: Received) => turn.id));
    cursor = page.nextCursor;
    if (cursor === null) break;
  }
  expect(found).toHaveLength(100);
  expect(new Set(found).size).toBe(100);
  const read = await client.request('thread/read', { threadId, includeTurns: true });
  expect(read.thread.turns.map((turn: Received) => turn.id)).toEqual(found);
});

test('threads of times that jump are listed once each, and paging ends', async () => {
  const clock = lyingClock();
  const server = await startApp({ clock });
  const client = await server.connect();
  const ids: string[] = [];
  for (const offset of [0, -HOUR, 2 * HOUR, 0, -1e12, 2e12, -HOUR]) {
    clock.turn(offset);
    const threadId = await startThread(client);
    await runTurn(client, threadId, 'say x');
    ids.push(threadId);
  }
  for (const sortKey of ['created_at', 'updated_at', 'recency_at'])
    for (const sortDirection of ['asc', 'desc']) {
      const found: string[] = [];
      for (let cursor: string | null = null; ; ) {
        clock.turn((found.length % 3) * HOUR);
        const page: Received = await client.request('thread/list', { limit: 2, sortKey, sortDirection, cursor });
        found.push(...page.data.map((thread: Received) => thread.id));
        cursor = page.nextCursor;
        if (cursor === null) break;
      }
      expect(found.toSorted()).toEqual(ids.toSorted());
    }
});
