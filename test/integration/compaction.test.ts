// Compaction: the model's view becomes a summary, people see what they saw before, and rollback undoes it.

import { afterEach, describe, expect, test } from 'vitest';
import { deferred } from '../../src/base/signals.ts';
import { type ModelServer, responses, type Step, startModelServer, status, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, runTurn, startThread, text } from '../harness/turns.ts';

afterEach(cleanUp);

const say = (...words: string[]): Step => stream(responses.say(...words));
const inputOf = (model: ModelServer, request = -1) => JSON.stringify(model.requests.at(request)!.body.input);

async function compact(client: TestClient, threadId: string): Promise<Received> {
  const known = client.news('turn/started').length;
  expect(await client.request('thread/compact/start', { threadId })).toEqual({});
  const started = await client.message(() => client.news('turn/started').length > known, 'the turn that compacts');
  expect(started).toBeDefined();
  return completed(client, client.news('turn/started')[known]!.turn.id);
}

test('the next request holds the summary and the words of the user; nothing changes for people, over a restart', async () => {
  const model = await startModelServer(say('first answer'), say('THE SUMMARY'), say('second'), say('third'));
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client);
  await runTurn(client, threadId, 'words of the user');
  const turn = await compact(client, threadId);
  expect(turn.status).toBe('completed');
  expect(inputOf(model, 1)).toContain('first answer');
  const items = await itemsOf(client, threadId);
  expect(items.map(({ type }) => type)).toEqual(['userMessage', 'agentMessage', 'contextCompaction']);
  expect(client.news('item/completed').at(-1)!.item).toMatchObject({ type: 'contextCompaction', id: items[2]!.id });
  for (const later of [client, null]) {
    if (!later) await server.restart();
    const reader = later ?? (await server.connect());
    await reader.request('thread/resume', { threadId });
    expect((await runTurn(reader, threadId, 'go on')).status).toBe('completed');
    expect(inputOf(model)).toContain('THE SUMMARY');
    expect(inputOf(model)).toContain('words of the user');
    expect(inputOf(model)).not.toContain('first answer');
  }
  await model.close();
});

test('visible history stays whole through compactions and a rollback, and dropped turns are not in the view', async () => {
  const steps = Array.from({ length: 40 }, (_, index) => say(`answer-${index}.`));
  const model = await startModelServer(...steps);
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client);
  for (let turn = 1; turn <= 12; turn += 1) {
    await runTurn(client, threadId, `turn-${turn}.`);
    if (turn === 4 || turn === 10) await compact(client, threadId);
  }
  const before = await itemsOf(client, threadId);
  await client.request('thread/rollback', { threadId, numTurns: 2 });
  await server.restart();
  const later = await server.connect();
  await later.request('thread/resume', { threadId });
  expect(await itemsOf(later, threadId)).toEqual(before.slice(0, -4));
  await runTurn(later, threadId, 'next');
  for (const dropped of ['turn-11.', 'turn-12.', 'answer-12.', 'answer-13.']) {
    expect(inputOf(model)).not.toContain(dropped);
  }
  expect(inputOf(model)).toContain('answer-11.');
  expect(inputOf(model)).toContain('turn-10.');
  await model.close();
});

test('rolling a compaction back brings the old view back', async () => {
  const model = await startModelServer(say('old answer'), say('THE SUMMARY'), say('next'));
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client);
  await runTurn(client, threadId, 'one');
  await compact(client, threadId);
  await client.request('thread/rollback', { threadId, numTurns: 1 });
  await runTurn(client, threadId, 'two');
  expect(inputOf(model)).toContain('old answer');
  expect(inputOf(model)).not.toContain('THE SUMMARY');
  await model.close();
});

describe('one that does not succeed leaves the view as it was', () => {
  test.each<[string, Step[], string]>([
    ['the model refuses', [status(400, { error: { message: 'no' } })], 'failed'],
    ['the model says nothing', [stream([responses.created(), responses.completed()])], 'failed'],
  ])('when %s', async (_, steps, end) => {
    const model = await startModelServer(say('old answer'), ...steps, say('next'));
    const server = await startApp({ backend: model });
    const client = await server.connect();
    const threadId = await startThread(client);
    await runTurn(client, threadId, 'one');
    const turn = await compact(client, threadId);
    expect(turn.status).toBe(end);
    expect(turn.error.message).not.toBe('');
    await runTurn(client, threadId, 'two');
    expect(inputOf(model)).toContain('old answer');
    await model.close();
  });

  test('when it is interrupted; and it takes no input meanwhile', async () => {
    const reached = deferred();
    const model = await startModelServer(say('old answer'), () => reached.resolve(), say('next'));
    const server = await startApp({ backend: model });
    const client = await server.connect();
    const threadId = await startThread(client);
    await runTurn(client, threadId, 'one');
    await client.request('thread/compact/start', { threadId });
    await reached.promise;
    const turnId = client.news('turn/started').at(-1)!.turn.id as string;
    expect((await client.refusal('thread/compact/start', { threadId })).data.activeTurnId).toBe(turnId);
    const steer = { threadId, expectedTurnId: turnId, input: text('more') };
    expect(await client.refusal('turn/steer', steer)).toMatchObject({
      code: -32009,
      message: expect.stringContaining('cannot steer a compact turn'),
      data: { codexErrorInfo: { activeTurnNotSteerable: { turnKind: 'compact' } } },
    });
    await client.request('turn/interrupt', { threadId, turnId });
    expect((await completed(client, turnId)).status).toBe('interrupted');
    await runTurn(client, threadId, 'two');
    expect(inputOf(model)).toContain('old answer');
    await model.close();
  });
});

test('a conversation that is too long for the model is summarised without its oldest part', async () => {
  const tooLong = status(400, { error: { message: 'no room', code: 'context_length_exceeded' } });
  const model = await startModelServer(say('oldest'), say('newest'), tooLong, say('THE SUMMARY'), say('next'));
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client);
  await runTurn(client, threadId, 'one');
  await runTurn(client, threadId, 'two');
  expect((await compact(client, threadId)).status).toBe('completed');
  expect(inputOf(model)).not.toContain('oldest');
  expect(inputOf(model)).toContain('newest');
  await model.close();
});

test('the rest of a turn can ask another model; the thread keeps its own', async () => {
  const goOn = deferred();
  const call = responses.call('call_1', 'exec_command', { cmd: 'true' });
  const model = await startModelServer(
    async (response, request) => {
      await goOn.promise;
      await stream([responses.created(), call, responses.completed()])(response, request);
    },
    say('done'),
    say('next'),
  );
  const server = await startApp({ backend: model });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { sandbox: 'danger-full-access', approvalPolicy: 'never' });
  const { turn } = await client.request('turn/start', { threadId, input: text('work') });
  await model.received(1);
  const wish = { threadId, model: 'other', effort: 'low' };
  expect(await client.request('turn/settings/update', { ...wish, turnId: turn.id })).toEqual({ status: 'applied' });
  expect(await client.request('turn/settings/update', { ...wish, turnId: 'x' })).toEqual({
    status: 'targetUnavailable',
  });
  goOn.resolve();
  await completed(client, turn.id);
  await runTurn(client, threadId, 'again');
  expect(model.requests.map(({ body }) => body.model)).toEqual(['scripted-model', 'other', 'scripted-model']);
  await model.close();
});
