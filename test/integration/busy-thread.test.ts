// A start of a turn on a thread where one runs: refused, joined to it, or kept until it is over, as asked.

import { afterEach, describe, expect, test } from 'vitest';
import { askedTurn } from '../harness/approvals.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, itemsOf, text } from '../harness/turns.ts';

afterEach(cleanUp);

describe.each([
  ['the request', {}, true],
  ['the configuration', { config: { busy_turn_start: 'queue' } }, false],
])('queued by %s', (_, options, asks) => {
  const wish = asks ? { ifBusy: 'queue' } : {};

  test('it waits, over a restart, and runs once under the id that was told', async () => {
    const server = await startApp(options);
    const client = await server.connect();
    const { threadId, turnId } = await askedTurn(server, client);
    const start = { threadId, input: text('say later'), turnId: 'second', idempotencyKey: 'k', ...wish };
    const reply = await client.request('turn/start', start);
    expect(reply).toMatchObject({ turn: { id: 'second' }, queuedSubmissionId: expect.any(String) });
    const taken = await client.refusal('turn/start', { ...start, idempotencyKey: 'other' });
    expect(taken.data.kind).toBe('exists');
    await server.restart();
    const later = await server.connect();
    expect(await later.request('turn/start', start)).toEqual(reply);
    await later.request('thread/resume', { threadId });
    (await later.asked()).answer({ decision: 'decline' });
    expect((await completed(later, turnId)).status).toBe('completed');
    expect((await completed(later, 'second')).status).toBe('completed');
    const said = (await itemsOf(later, threadId)).filter(({ type }) => type === 'agentMessage');
    expect(said.at(-1)!.text).toBe('later');
    expect((await later.request('thread/turns/list', { threadId })).data).toHaveLength(2);
  });

  test('one with settings of its own is refused, because what waits has none', async () => {
    const server = await startApp(options);
    const client = await server.connect();
    const { threadId, turnId } = await askedTurn(server, client);
    for (const own of [{ model: 'other' }, { outputSchema: { type: 'object' } }]) {
      const error = await client.refusal('turn/start', { threadId, input: text('say x'), ...wish, ...own });
      expect(error).toMatchObject({ code: -32009, data: { activeTurnId: turnId } });
    }
  });
});

test('without a wish it is refused, and the thread is as it was', async () => {
  const server = await startApp();
  const client = await server.connect();
  const { threadId, turnId } = await askedTurn(server, client);
  const error = await client.refusal('turn/start', { threadId, input: text('say x') });
  expect(error).toMatchObject({ code: -32009, data: { activeTurnId: turnId } });
  expect((await client.request('thread/turns/list', { threadId })).data).toHaveLength(1);
});
