// Input to a running turn: durable when accepted, seen by everyone, shown to the model, never lost.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { liveAnswer } from '../harness/live-answer.ts';
import { responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, itemsOf, runTurn, startThread, startTurn, text } from '../harness/turns.ts';

afterEach(cleanUp);

test('a steer while the model speaks is shown to it in the same turn', async () => {
  const answer = liveAnswer();
  const model = await startModelServer(answer.step, stream(responses.say('as you wish')));
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client);
  const turnId = await startTurn(client, threadId, 'begin');
  await answer.begin();
  await answer.say('first');
  await client.notified('item/agentMessage/delta');
  const input = text('another way');
  expect(await client.request('turn/steer', { threadId, expectedTurnId: turnId, input })).toEqual({ turnId });
  await answer.finish();
  expect((await completed(client, turnId)).status).toBe('completed');
  const items = await itemsOf(client, threadId);
  const words = items.filter(({ type }) => type === 'userMessage').map(({ content }) => content[0].text);
  expect(words).toEqual(['begin', 'another way']);
  expect(JSON.stringify(model.requests[1]!.body.input)).toContain('another way');
  expect(client.news('turn/started')).toHaveLength(1);
  await model.close();
});

test('a steer that the turn had no time for is kept, and part of the next turn', async () => {
  const answer = liveAnswer();
  const model = await startModelServer(answer.step, stream(responses.say('I see')));
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client);
  const turnId = await startTurn(client, threadId, 'begin');
  await answer.begin();
  const steer = client.post('turn/steer', { threadId, expectedTurnId: turnId, input: text('too late') });
  const stop = client.post('turn/interrupt', { threadId, turnId });
  await Promise.all([client.answerTo(steer), client.answerTo(stop)]);
  await completed(client, turnId);
  const items = await itemsOf(client, threadId);
  expect(JSON.stringify(items)).toContain('too late');
  await runTurn(client, threadId, 'and?');
  expect(JSON.stringify(model.requests[1]!.body.input)).toContain('too late');
  await model.close();
});

test('a steer of another turn or of none is refused with what is true', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client);
  const input = text('more');
  const none = await client.refusal('turn/steer', { threadId, expectedTurnId: 'x', input });
  expect(none).toMatchObject({ code: -32009, message: expect.stringContaining('no active turn to steer') });
  const turnId = await startTurn(client, threadId, 'hang');
  const wrong = await client.refusal('turn/steer', { threadId, expectedTurnId: 'x', input });
  expect(wrong).toMatchObject({ code: -32009, data: { activeTurnId: turnId } });
  expect(wrong.message).toMatch(/expected active turn id .?x.? but found/);
  for (const params of [
    { threadId, expectedTurnId: turnId, input: [] },
    { threadId, expectedTurnId: '', input },
  ])
    expect((await client.refusal('turn/steer', params)).code).toBe(-32602);
  await client.request('turn/interrupt', { threadId, turnId });
});

/** A tool call, then an answer; what the turn still does after that takes its time. */
async function nearItsEnd(last: string) {
  const model = await startModelServer(
    stream([
      responses.created(),
      responses.call('call_1', 'exec_command', { cmd: 'echo x > made' }),
      responses.completed(),
    ]),
    stream(responses.say('done')),
    stream(responses.say(last)),
  );
  const server = await startApp({ backend: model, config: { busy_turn_start: 'steer' } });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, {
    cwd: server.workspace,
    sandbox: 'danger-full-access',
    approvalPolicy: 'never',
  });
  return { model, client, threadId };
}

test.each(['turn/steer', 'turn/start'])(
  '%s in the moment of the last answer is answered too, whichever comes first',
  { timeout: 60_000 },
  async (method) => {
    for (let round = 0; round < 5; round++) {
      const { model, client, threadId } = await nearItsEnd('and more');
      const turnId = await startTurn(client, threadId, 'begin');
      await client.notified('item/completed', ({ item }) => item.type === 'agentMessage' && item.text === 'done');
      const input = text('one more thing');
      const steer = method === 'turn/steer' ? { expectedTurnId: turnId } : {};
      const outcome = await client.request(method, { threadId, input, ...steer }).catch((error) => error.code);
      const taken = method === 'turn/steer' ? outcome.turnId : outcome.turn.id;
      if (outcome === -32009) expect((await completed(client, turnId)).status).toBe('completed');
      else {
        expect((await completed(client, taken)).status).toBe('completed');
        expect(JSON.stringify(model.requests[2]!.body.input)).toContain('one more thing');
      }
      expect(model.requests).toHaveLength(outcome === -32009 ? 2 : 3);
      await model.close();
    }
  },
);

test('input while a command of the user runs is answered when that has ended', { timeout: 60_000 }, async () => {
  const model = await startModelServer(stream(responses.say('because')));
  const server = await startApp({ backend: model, config: { busy_turn_start: 'steer' } });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace });
  await client.request('thread/shellCommand', { threadId, command: 'while [ ! -e go ]; do sleep 0.05; done' });
  const { turn } = await client.notified('turn/started');
  const taken = await client.request('turn/start', { threadId, input: text('why?') });
  expect(taken.turn.id).toBe(turn.id);
  expect(model.requests).toHaveLength(0);
  writeFileSync(join(server.workspace, 'go'), '');
  expect((await completed(client, turn.id)).status).toBe('completed');
  expect(JSON.stringify(model.requests[0]!.body.input)).toContain('why?');
  await model.close();
});

test('a start that is to steer what runs is taken once, also while what waited begins', async () => {
  const server = await startApp();
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client);
  for (let at = 0; at < 20; at += 1) {
    const queued = { threadId, clientUserMessageId: `q${at}`, input: text(`say q${at}`) };
    const waiting = client.post('thread/queue/add', queued);
    const start = client.post('turn/start', { threadId, ifBusy: 'steer', input: text(`say s${at}.`) });
    const [{ turn }] = await Promise.all([client.answerTo(start), client.answerTo(waiting)]);
    await completed(client, turn.id);
  }
  const words = (await itemsOf(client, threadId)).filter(({ type }) => type === 'userMessage');
  for (let at = 0; at < 20; at += 1)
    expect(words.filter(({ content }) => content[0].text === `say s${at}.`).length, `s${at}`).toBe(1);
});
