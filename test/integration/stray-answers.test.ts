// Answers that nobody asked for change nothing and never become a grant.

import { afterEach, describe, expect, test } from 'vitest';
import { askedTurn } from '../harness/approvals.ts';
import { cleanUp, startApp, TRANSPORTS } from '../harness/start-app.ts';
import { completed, startThread } from '../harness/turns.ts';

afterEach(cleanUp);

const ACCEPT = { decision: 'accept' };

test.each(TRANSPORTS)('answers to no question are ignored over %s', async (transport) => {
  const server = await startApp({ transport });
  const client = await server.connect();
  client.send({ id: 999_999, result: {} });
  client.send({ id: 'x', error: { code: 1, message: 'm' } });
  client.send({ id: 0, result: {}, error: { code: 1, message: 'both' } });
  client.send({ id: null, result: {} });
  await client.settled();
  expect(client.transcript.filter((each) => each.error).length).toBeLessThanOrEqual(1);
  await startThread(client);
});

describe('an answer to a question of another connection', () => {
  test('is not taken from a connection that was not asked', async () => {
    const server = await startApp();
    const [asked, other] = [await server.connect(), await server.connect()];
    const turn = await askedTurn(server, asked);
    other.send({ id: turn.question.id, result: ACCEPT });
    await other.settled();
    const { thread } = await other.request('thread/read', { threadId: turn.threadId });
    expect(thread.status.activeFlags).toEqual(['waitingOnApproval']);
    expect(await turn.runs()).toBe(0);
    turn.question.answer({ decision: 'decline' });
    await completed(asked, turn.turnId);
    expect(await turn.runs()).toBe(0);
  });

  test('counts on a new connection only after the question has come there', async () => {
    const server = await startApp();
    const first = await server.connect();
    const turn = await askedTurn(server, first);
    first.wire.cut();
    const second = await server.connect();
    second.send({ id: turn.question.id, result: ACCEPT });
    await second.settled();
    expect(await turn.runs()).toBe(0);
    await second.request('thread/resume', { threadId: turn.threadId });
    const again = await second.asked();
    again.answer(ACCEPT);
    expect((await completed(second, turn.turnId)).status).toBe('completed');
    expect(await turn.runs()).toBe(1);
  });
});

test('a second answer to the same question is ignored', async () => {
  const server = await startApp();
  const client = await server.connect();
  const turn = await askedTurn(server, client);
  turn.question.answer({ decision: 'decline' });
  turn.question.answer(ACCEPT);
  await completed(client, turn.turnId);
  turn.question.answer(ACCEPT);
  await client.settled();
  expect(await turn.runs()).toBe(0);
  expect(client.news('serverRequest/resolved')).toHaveLength(1);
});

test('of two clients that were asked, the first answer counts, and both learn that the question has ended', async () => {
  const server = await startApp();
  const [first, second] = [await server.connect(), await server.connect()];
  const turn = await askedTurn(server, first);
  await second.request('thread/resume', { threadId: turn.threadId });
  const question = await second.asked();
  expect(question.id).toBe(turn.question.id);
  expect(question.params).toEqual(turn.question.params);
  question.answer({ decision: 'decline' });
  for (const client of [first, second]) {
    await client.notified('serverRequest/resolved', ({ requestId }) => requestId === question.id);
  }
  turn.question.answer(ACCEPT);
  await completed(first, turn.turnId);
  expect(await turn.runs()).toBe(0);
});
