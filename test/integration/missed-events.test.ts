// What a client missed: told again from any place it remembers, in order, with nothing left out.

import { afterEach, describe, expect, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { openBlobs } from '../../src/history/blobs.ts';
import { keysOf } from '../../src/history/keys.ts';
import { LmdbRows } from '../../src/history/lmdb-rows.ts';
import { blobsDirectory, recordsDirectory } from '../../src/history/places.ts';
import { trimThread } from '../../src/history/trim.ts';
import { liveAnswer } from '../harness/live-answer.ts';
import { startModelServer } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, runTurn, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

const placed = (client: TestClient): Received[] => client.notifications().filter((each) => each.seq !== undefined);
const isDelta = (each: Received): boolean => each.method.endsWith('/delta') || each.method.endsWith('Delta');
const plain = ({ seq, method, params, emittedAtMs }: Received) => ({ seq, method, params, emittedAtMs });

describe('a resume behind an event', () => {
  test('is followed by everything behind it, whichever event that is', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client, { sandbox: 'danger-full-access' });
    await runTurn(client, threadId, 'think about it\nsay one two three\nrun echo x');
    const { headSeq } = await client.request('thread/read', { threadId });
    const all = placed(client);
    for (let after = 0; after <= headSeq; after += 1) {
      const later = await server.connect();
      const answer = await later.request('thread/resume', { threadId, afterEventSeq: after, excludeTurns: true });
      expect(answer.headSeq).toBe(headSeq);
      const expected = all.filter((each) => each.seq > after && !isDelta(each));
      if (expected.length > 0) await later.message((each) => each.seq === expected.at(-1)!.seq);
      await later.settled();
      expect(
        placed(later)
          .filter((each) => !isDelta(each))
          .map(plain),
      ).toEqual(expected.map(plain));
      later.wire.end();
    }
  });

  test('comes before what happens from then on, without a gap', async () => {
    const answer = liveAnswer();
    const model = await startModelServer(answer.step);
    const server = await startApp({ backend: model });
    const client = await server.connect();
    const threadId = await startThread(client);
    const turnId = await startTurn(client, threadId, 'speak');
    await answer.begin();
    await answer.say('one ', 'two ', 'three ');
    const last = await client.message((each) => each.params?.delta === 'three ');
    const middle = placed(client).find((each) => each.params.delta === 'one ')!;
    const later = await server.connect();
    await later.request('thread/resume', { threadId, afterEventSeq: middle.seq });
    const joined = await later.message((each) => each.seq === last.seq);
    expect(joined.params.delta).toBe('two three ');
    await answer.say('four');
    await answer.finish();
    await completed(later, turnId);
    await completed(client, turnId);
    const words = placed(later)
      .filter(isDelta)
      .map((each) => each.params.delta)
      .join('');
    expect(words).toBe('two three four');
    const seqs = placed(later).map((each) => each.seq);
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
    await model.close();
  });

  test('that does not exist yet is refused with the range that does', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    await runTurn(client, threadId, 'say one');
    const { headSeq } = await client.request('thread/read', { threadId });
    for (const method of ['thread/resume', 'thread/read']) {
      const error = await client.refusal(method, { threadId, afterEventSeq: headSeq + 1 });
      expect(error).toMatchObject({ code: -32009, data: { kind: 'stale_cursor', threadId, headSeq } });
    }
    expect((await client.refusal('thread/resume', { threadId, afterEventSeq: -1 })).code).toBe(-32602);
    expect((await client.refusal('thread/resume', { threadId, afterEventSeq: 1.5 })).code).toBe(-32602);
  });

  test('among deltas that are gone is followed by the next kept event, also after a restart', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    const turn = await runTurn(client, threadId, 'say one two three four five');
    const delta = placed(client).filter(isDelta)[0]!;
    const [next] = placed(client).filter((each) => each.seq > delta.seq && !isDelta(each));
    await server.restart();
    const later = await server.connect();
    await later.request('thread/resume', { threadId, afterEventSeq: delta.seq });
    await completed(later, turn.id);
    expect(placed(later).filter((each) => !isDelta(each))[0]!.seq).toBe(next!.seq);
  });
});

describe('a place that retention has taken', () => {
  test('is refused with what is kept and what to do, and what is shown is whole', async () => {
    const server = await startApp({ config: { retention: { events_days: 1 } } });
    const client = await server.connect();
    const threadId = await startThread(client, { sandbox: 'danger-full-access' });
    for (const words of ['say one two three', 'run echo x', 'say four']) await runTurn(client, threadId, words);
    const before = await client.request('thread/read', { threadId, includeTurns: true });
    await server.close();
    await trimmed(server.dataDirectory, threadId, before.headSeq - 3);
    const later = await startApp({ dataDirectory: server.dataDirectory });
    const reader = await later.connect();
    const oldestSeq = before.headSeq - 3;
    for (const method of ['thread/read', 'thread/resume']) {
      const error = await reader.refusal(method, { threadId, afterEventSeq: oldestSeq - 1 });
      expect(error).toMatchObject({
        code: -32009,
        data: { kind: 'stale_cursor', threadId, oldestSeq, headSeq: before.headSeq },
      });
      expect(error.message).toContain('thread/resume without afterEventSeq');
      await reader.request(method, { threadId, afterEventSeq: oldestSeq });
    }
    const after = await reader.request('thread/read', { threadId, includeTurns: true });
    expect(after.thread.turns).toEqual(before.thread.turns);
    expect(after.headSeq).toBe(before.headSeq);
    const items = await itemsOf(reader, threadId);
    expect(items.length).toBeGreaterThan(6);
    for (const ephemeral of [true, false]) {
      const { thread } = await reader.request('thread/fork', { threadId, ephemeral, excludeTurns: true });
      expect(await itemsOf(reader, thread.id)).toEqual(items);
    }
    await runTurn(reader, threadId, 'say five');
  });
});

/** What the retention does to a thread with old events. */
async function trimmed(directory: string, id: string, through: number): Promise<void> {
  const rows = new LmdbRows(recordsDirectory(directory));
  const source = { rows, keys: keysOf('local'), blobs: openBlobs(blobsDirectory(directory)), log: silentLog() };
  expect(await trimThread({ ...source, id, mayGoOn: () => true }, through)).toBeGreaterThan(0);
  await rows.close();
}

describe('pages of missed events', () => {
  test('hold what was told live, each once, whatever the size of the page', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client, { sandbox: 'danger-full-access' });
    await runTurn(client, threadId, 'think about it\nsay one two three\nrun echo x');
    const told = placed(client).filter((each) => !isDelta(each));
    for (const limit of [1, 2, 7, 1000]) {
      const events: Received[] = [];
      for (let after = 0; ; ) {
        const page = await client.request('thread/read', { threadId, afterEventSeq: after, limit });
        events.push(...page.events);
        if (page.nextSeq === page.headSeq) break;
        expect(page.nextSeq).toBeGreaterThan(after);
        after = page.nextSeq;
      }
      expect(events.filter((each) => !isDelta(each))).toEqual(told.map(plain));
    }
  });

  test('are there for a thread that is not loaded, and leave it so', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client);
    await runTurn(client, threadId, 'say one');
    const told = placed(client).filter((each) => !isDelta(each));
    await server.restart();
    const later = await server.connect();
    const page = await later.request('thread/read', { threadId, afterEventSeq: 0 });
    expect(page.events.filter((each: Received) => !isDelta(each))).toEqual(told.map(plain));
    expect((await later.request('thread/loaded/list', {})).data).toEqual([]);
  });
});
