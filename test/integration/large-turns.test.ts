// Turns that are larger than a frame: shown in parts or in short, never in a frame that a client would refuse.

import { afterEach, expect, test } from 'vitest';
import { responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { Received } from '../harness/test-client.ts';
import { itemsOf, runTurn, startThread } from '../harness/turns.ts';

afterEach(cleanUp);

/** What clients accept, in bytes. */
const LARGEST_FRAME = 16 * 1024 * 1024;
/** Three bytes each. */
const words = '漢'.repeat(256 * 1024);
const bytesOf = (message: unknown) => Buffer.byteLength(JSON.stringify(message));

/** A turn of this many messages, of three quarters of a MiB each. */
function long(messages: number) {
  const spoken = Array.from({ length: messages }, (_, index) => responses.message(`msg_${index}`, [words]));
  return stream([responses.created(), ...spoken.flat(), responses.completed()]);
}

test('a turn that is too large for a frame is shown in short, and whole by its items', async () => {
  const model = await startModelServer(stream(responses.say('small')), long(24));
  const server = await startApp({ backend: model });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client);
  await runTurn(client, threadId, 'first');
  const { id } = await runTurn(client, threadId, 'speak');
  const later = await server.connect({ experimentalApi: true });
  const { thread } = await later.request('thread/resume', { threadId, initialTurnsPage: { itemsView: 'full' } });
  const read = await later.request('thread/read', { threadId, includeTurns: true });
  const { data } = await later.request('thread/turns/list', { threadId, itemsView: 'full' });
  for (const turns of [thread.turns, read.thread.turns, data.toReversed()]) {
    expect(turns.map((turn: Received) => [turn.id === id, turn.itemsView])).toEqual([
      [false, 'full'],
      [true, 'summary'],
    ]);
  }
  const items = await itemsOf(later, threadId);
  expect(items.filter(({ text }) => text === words)).toHaveLength(24);
  const wanted = items.filter(({ text }) => text === words).map((item) => item.id);
  const named: Received[] = [];
  while (named.length < wanted.length) {
    const itemIds = wanted.slice(named.length);
    named.push(...(await later.request('thread/items/read', { threadId, turnId: id, itemIds })).data);
  }
  expect(named.map(({ item }) => item.id)).toEqual(wanted);
  for (const message of [...client.transcript, ...later.transcript])
    expect(bytesOf(message)).toBeLessThan(LARGEST_FRAME);
  await model.close();
});

test('turns that fit together only in part are told in part', async () => {
  const model = await startModelServer(long(5), long(5), long(5));
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client);
  for (const _ of [1, 2, 3]) await runTurn(client, threadId, 'speak');
  const { thread, turnsTruncated } = await (await server.connect()).request('thread/resume', { threadId });
  expect(turnsTruncated).toBe(true);
  expect(thread.turns.map((turn: Received) => [turn.itemsView, turn.items.length])).toEqual([['full', 6]]);
  await model.close();
});

test('a piece beyond all measure comes in small ones', async () => {
  const model = await startModelServer(stream(responses.say(`x${'😀'.repeat(200_000)}`)));
  const server = await startApp({ backend: model });
  const client = await server.connect();
  await runTurn(client, await startThread(client), 'speak');
  const pieces = client.news('item/agentMessage/delta').map(({ delta }) => delta as string);
  expect(pieces.join('')).toBe(`x${'😀'.repeat(200_000)}`);
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(64 * 1024);
  await model.close();
});

test('a message without an end ends the turn, with what was shown of it', async () => {
  const deltas = Array.from({ length: 20 }, () => words);
  const model = await startModelServer(stream([responses.created(), ...responses.message('msg_1', deltas)]));
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client);
  const turn = await runTurn(client, threadId, 'speak');
  expect(turn).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('12582912 bytes') } });
  const shown = client.news('item/agentMessage/delta').map(({ delta }) => delta as string);
  expect((await itemsOf(client, threadId))[1]!.text).toBe(shown.join(''));
  const later = await server.connect({ experimentalApi: true });
  const { thread } = await later.request('thread/resume', { threadId, initialTurnsPage: { itemsView: 'full' } });
  expect(thread.turns).toMatchObject([{ itemsView: 'notLoaded', items: [] }]);
  for (const message of [...client.transcript, ...later.transcript])
    expect(bytesOf(message)).toBeLessThan(LARGEST_FRAME);
  await model.close();
});
