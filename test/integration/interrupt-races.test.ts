// Stopping a turn at the worst moments: one end, nothing runs afterwards, and the model is told.

import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { liveAnswer } from '../harness/live-answer.ts';
import { responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, startApp, TRANSPORTS } from '../harness/start-app.ts';
import { completed, itemsOf, runTurn, startThread, startTurn, text } from '../harness/turns.ts';
import { isRunning, pidsIn } from '../unit/children/waiting.ts';

afterEach(cleanUp);

const SETTLED = { physicallySettled: true };

test.each(TRANSPORTS)('directly behind the start of the turn over %s', async (transport) => {
  const server = await startApp({ transport });
  const client = await server.connect();
  const threadId = await startThread(client);
  for (let round = 0; round < 5; round += 1) {
    const turnId = `turn-${round}`;
    const start = client.post('turn/start', { threadId, turnId, input: text('run echo x') });
    const stop = client.post('turn/interrupt', { threadId, turnId: '' });
    await client.answerTo(start);
    expect(await client.answerTo(stop)).toEqual({ physicallySettled: expect.any(Boolean) });
    const turn = await completed(client, turnId);
    expect(['interrupted', 'completed']).toContain(turn.status);
    expect(client.news('turn/completed').filter((each) => each.turn.id === turnId)).toHaveLength(1);
  }
});

test('an interrupt is valid from the moment the start is answered', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client);
  const turnId = await startTurn(client, threadId, 'hang');
  expect(await client.request('turn/interrupt', { threadId, turnId })).toEqual(SETTLED);
  expect((await completed(client, turnId)).status).toBe('interrupted');
});

test('a hundred times', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client);
  const turnId = await startTurn(client, threadId, 'hang');
  const stops = Array.from({ length: 100 }, () => client.post('turn/interrupt', { threadId, turnId }));
  const outcomes = await Promise.allSettled(stops.map((id) => client.answerTo(id)));
  for (const each of outcomes) expect(each).toEqual({ status: 'fulfilled', value: SETTLED });
  await completed(client, turnId);
  await client.settled();
  expect(client.news('turn/completed')).toHaveLength(1);
  expect((await runTurn(client, threadId, 'say next')).status).toBe('completed');
});

test('with the id of the turn before: an error that names the active one', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client);
  const before = await runTurn(client, threadId, 'say one');
  const turnId = await startTurn(client, threadId, 'hang');
  const error = await client.refusal('turn/interrupt', { threadId, turnId: before.id });
  expect(error).toMatchObject({ code: -32009, data: { threadId, activeTurnId: turnId } });
  expect(error.message).toContain(`expected active turn id ${before.id} but found ${turnId}`);
  expect((await client.request('thread/read', { threadId })).thread.status.type).toBe('active');
  await client.request('turn/interrupt', { threadId, turnId });
  await completed(client, turnId);
});

test('twice is the same as once: after the end, beside the next turn, and after a restart', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client);
  const turnId = await startTurn(client, threadId, 'hang');
  const stop = () => client.request('turn/interrupt', { threadId, turnId });
  expect(await stop()).toEqual(SETTLED);
  expect((await completed(client, turnId)).status).toBe('interrupted');
  const { headSeq } = await client.request('thread/read', { threadId });
  expect(await stop()).toEqual(SETTLED);
  expect((await client.request('thread/read', { threadId })).headSeq).toBe(headSeq);
  const next = await startTurn(client, threadId, 'hang');
  expect(await stop()).toEqual(SETTLED);
  expect((await client.request('thread/read', { threadId })).thread.status.type).toBe('active');
  await client.request('turn/interrupt', { threadId, turnId: next });
  await completed(client, next);
  await server.restart();
  const later = await server.connect();
  expect(await later.request('turn/interrupt', { threadId, turnId })).toEqual(SETTLED);
  expect((await later.refusal('turn/interrupt', { threadId, turnId: 'never-there' })).code).toBe(-32009);
});

test('after the end: an error, and nothing changes', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client);
  const turn = await runTurn(client, threadId, 'say one');
  const { headSeq } = await client.request('thread/read', { threadId });
  expect((await client.refusal('turn/interrupt', { threadId, turnId: turn.id })).code).toBe(-32009);
  expect((await client.request('thread/read', { threadId })).headSeq).toBe(headSeq);
  expect((await runTurn(client, threadId, 'say two')).status).toBe('completed');
});

test('on an ephemeral thread', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client, { ephemeral: true });
  const turnId = await startTurn(client, threadId, 'hang');
  expect(await client.request('turn/interrupt', { threadId, turnId })).toEqual(SETTLED);
  expect((await completed(client, turnId)).status).toBe('interrupted');
});

test('after a second resume of the same thread, one end is told', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client);
  const turnId = await startTurn(client, threadId, 'hang');
  await client.notified('turn/started');
  for (let again = 0; again < 2; again += 1) await client.request('thread/resume', { threadId });
  expect(await client.request('turn/interrupt', { threadId, turnId })).toEqual(SETTLED);
  await completed(client, turnId);
  await client.settled();
  expect(client.news('turn/completed')).toHaveLength(1);
});

test('while a command is deaf to polite signals: it is gone when the interrupt is answered', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client, { sandbox: 'danger-full-access' });
  const mark = join(server.workspace, 'pid');
  const turnId = await startTurn(
    client,
    threadId,
    `run trap '' TERM; echo $$ > ${mark}; echo ready; while :; do sleep 0.05; done`,
  );
  await client.notified('item/commandExecution/outputDelta');
  expect(await client.request('turn/interrupt', { threadId, turnId })).toEqual(SETTLED);
  const [pid] = await pidsIn(mark, 1);
  expect(isRunning(pid!)).toBe(false);
  await completed(client, turnId);
  const command = (await itemsOf(client, threadId)).find(({ type }) => type === 'commandExecution');
  expect(command).toMatchObject({ status: 'failed', aggregatedOutput: 'ready\n' });
});

test('on another connection than the one that began', async () => {
  const server = await startApp();
  const [first, second] = [await server.connect(), await server.connect()];
  const threadId = await startThread(first);
  const turnId = await startTurn(first, threadId, 'hang');
  expect(await second.request('turn/interrupt', { threadId, turnId })).toEqual(SETTLED);
  expect((await completed(first, turnId)).status).toBe('interrupted');
});

test('no tool starts after an interrupt, the text so far is kept, and the next turn says that work was aborted', async () => {
  const cut = liveAnswer();
  const model = await startModelServer(cut.step, stream(responses.say('I see')));
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client, { sandbox: 'danger-full-access' });
  const turnId = await startTurn(client, threadId, 'begin');
  await cut.begin();
  await cut.say('half a ', 'sentence');
  await client.notified('item/agentMessage/delta');
  await cut.write(responses.call('call_1', 'exec_command', { cmd: 'echo too late' }));
  expect(await client.request('turn/interrupt', { threadId, turnId })).toEqual(SETTLED);
  await cut.letGo;
  await completed(client, turnId);
  const items = await itemsOf(client, threadId);
  expect(items.map(({ type }) => type)).toEqual(['userMessage', 'agentMessage']);
  expect(items[1]!.text).toBe('half a sentence');
  expect(client.news('item/completed').map(({ item }) => item.text)).toContain('half a sentence');
  await runTurn(client, threadId, 'and?');
  const input = JSON.stringify(model.requests[1]!.body.input);
  expect(input).toContain('half a sentence');
  expect(input).toContain('The previous turn was interrupted');
  await model.close();
});

test('every call that was cut off has an output in the next request to the model', async () => {
  const call = { cmd: 'echo started; sleep 600' };
  const model = await startModelServer(
    stream([responses.created(), responses.call('call_1', 'exec_command', call), responses.completed()]),
    stream(responses.say('I see')),
  );
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client, { sandbox: 'danger-full-access' });
  const turnId = await startTurn(client, threadId, 'begin');
  await client.notified('item/commandExecution/outputDelta');
  await client.request('turn/interrupt', { threadId, turnId });
  await completed(client, turnId);
  await runTurn(client, threadId, 'and?');
  const input = model.requests[1]!.body.input as { type: string; call_id?: string }[];
  const ids = (type: string) => input.filter((each) => each.type === type).map((each) => each.call_id);
  expect(ids('function_call')).toEqual(['call_1']);
  expect(ids('function_call_output')).toEqual(['call_1']);
  await model.close();
});
