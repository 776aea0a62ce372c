// What a stop of the server leaves, polite or not: threads, text that was shown, questions to people, a well-formed model context.

import { afterEach, describe, expect, test } from 'vitest';
import { askedTurn } from '../harness/approvals.ts';
import { liveAnswer } from '../harness/live-answer.ts';
import { responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, type RunningApp, startApp } from '../harness/start-app.ts';
import { completed, itemsOf, runTurn, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

type Stop = (server: RunningApp) => Promise<RunningApp>;

const stops: [string, Stop][] = [
  [
    'a polite stop',
    async (server) => {
      await server.restart();
      return server;
    },
  ],
  ['a kill', (server) => server.afterKill()],
];

describe.each(stops)('after %s', (_, stop) => {
  test('a thread that never had a turn is there and works', async () => {
    const server = await startApp();
    const client = await server.connect();
    const threadId = await startThread(client, { serviceName: 'kept' });
    const titled = await startThread(client, { title: 'kept', metadata: { a: 1 } });
    const later = await (await stop(server)).connect();
    const read = async (id: string) => (await later.request('thread/read', { threadId: id })).thread;
    expect(await read(threadId)).toMatchObject({ id: threadId, serviceName: 'kept' });
    expect(await read(titled)).toMatchObject({ id: titled, title: 'kept', metadata: { a: 1 } });
    expect((await later.request('thread/list', {})).data).toMatchObject([{ id: titled }]);
    await later.request('thread/archive', { threadId: titled });
    await later.request('thread/resume', { threadId });
    expect((await runTurn(later, threadId, 'say alive')).status).toBe('completed');
    expect((await later.request('thread/list', {})).data.map((each: { id: string }) => each.id)).toEqual([threadId]);
  });

  test('a turn can be started on a thread that nobody has resumed', async () => {
    const server = await startApp();
    const threadId = await startThread(await server.connect());
    const later = await (await stop(server)).connect();
    await startTurn(later, threadId, 'say alive');
    await later.notified('thread/status/changed', ({ status }) => status.type === 'idle');
    expect((await itemsOf(later, threadId))[1]!.text).toBe('alive');
  });

  test('a turn that only waits for people goes on: same question, answered once, run once', async () => {
    const server = await startApp();
    const client = await server.connect();
    const turn = await askedTurn(server, client);
    const started = await stop(server);
    const later = await started.connect();
    const { thread } = await later.request('thread/resume', { threadId: turn.threadId });
    expect(thread.status).toEqual({ type: 'active', activeFlags: ['waitingOnApproval'] });
    expect(thread.turns.at(-1)).toMatchObject({ id: turn.turnId, status: 'inProgress' });
    const question = await later.asked();
    expect(question.params).toEqual(turn.question.params);
    question.answer({ decision: 'accept' });
    question.answer({ decision: 'accept' });
    expect((await completed(later, turn.turnId)).status).toBe('completed');
    expect(await turn.runs()).toBe(1);
    const items = await itemsOf(later, turn.threadId);
    expect(items.map((each) => [each.type, each.status])).toEqual([
      ['userMessage', undefined],
      ['commandExecution', 'completed'],
      ['agentMessage', undefined],
    ]);
  });

  test('a turn that only waits for people can still be interrupted, and the thread goes on', async () => {
    const server = await startApp();
    const turn = await askedTurn(server, await server.connect());
    const later = await (await stop(server)).connect();
    await later.request('thread/resume', { threadId: turn.threadId });
    await later.request('turn/interrupt', { threadId: turn.threadId, turnId: turn.turnId });
    expect((await completed(later, turn.turnId)).status).toBe('interrupted');
    await later.settled();
    expect(await turn.runs()).toBe(0);
    expect((await itemsOf(later, turn.threadId)).map(({ status }) => status)).toEqual([undefined, 'declined']);
    expect((await runTurn(later, turn.threadId, 'say next')).status).toBe('completed');
  });

  test('a turn that was streaming ends interrupted with the text that was shown', async () => {
    const answer = liveAnswer();
    const model = await startModelServer(answer.step, stream(responses.say('again')));
    const server = await startApp({ backend: model });
    const client = await server.connect();
    const threadId = await startThread(client);
    const turnId = await startTurn(client, threadId, 'speak');
    await answer.begin();
    await answer.say('this was ', 'shown');
    await client.message((each) => each.params?.delta?.endsWith('shown'));
    const later = await (await stop(server)).connect();
    await later.request('thread/resume', { threadId });
    const { data } = await later.request('thread/turns/list', { threadId });
    expect(data[0]).toMatchObject({ id: turnId, status: 'interrupted' });
    expect((await itemsOf(later, threadId))[1]!.text).toBe('this was shown');
    expect((await runTurn(later, threadId, 'go on')).status).toBe('completed');
    const input = JSON.stringify(model.requests[1]!.body.input);
    expect(input).toContain('this was shown');
    expect(input).toContain('interrupted');
    await model.close();
  });
});

test('a command that ran when the server was killed has an unknown outcome, and the model hears of it', async () => {
  const call = { cmd: 'echo begun; sleep 600' };
  const model = await startModelServer(
    stream([responses.created(), responses.call('call_1', 'exec_command', call), responses.completed()]),
    stream(responses.say('I see')),
  );
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client, { sandbox: 'danger-full-access' });
  const turnId = await startTurn(client, threadId, 'work');
  await client.notified('item/commandExecution/outputDelta');
  const killed = await server.afterKill();
  const later = await killed.connect();
  await later.request('thread/resume', { threadId });
  const { data } = await later.request('thread/turns/list', { threadId });
  expect(data[0]).toMatchObject({ id: turnId, status: 'interrupted' });
  const command = (await itemsOf(later, threadId)).find(({ type }) => type === 'commandExecution');
  expect(command).toMatchObject({ status: 'failed', outcome: 'unknown', aggregatedOutput: 'begun\n' });
  const before = model.requests.length;
  expect((await runTurn(later, threadId, 'and?')).status).toBe('completed');
  const input = model.requests[before]!.body.input as { type: string; call_id?: string; output?: unknown }[];
  const calls = input.filter((each) => each.type === 'function_call');
  const outputs = input.filter((each) => each.type === 'function_call_output');
  expect(outputs.map((each) => each.call_id)).toEqual(calls.map((each) => each.call_id));
  expect(JSON.stringify(outputs)).toContain('outcome is unknown');
  await model.close();
});

test('a command that ran when the server stopped politely is ended, its text kept, and the turn interrupted', async () => {
  const server = await startApp();
  const client = await server.connect();
  const threadId = await startThread(client, { sandbox: 'danger-full-access' });
  await startTurn(client, threadId, 'run echo begun; sleep 600');
  await client.notified('item/commandExecution/outputDelta');
  await server.restart();
  const later = await server.connect();
  await later.request('thread/resume', { threadId });
  const { data } = await later.request('thread/turns/list', { threadId });
  expect(data[0].status).toBe('interrupted');
  const command = (await itemsOf(later, threadId)).find(({ type }) => type === 'commandExecution');
  expect(command).toMatchObject({ status: 'failed', aggregatedOutput: 'begun\n' });
});

test('the settings of a thread, and its place in the log, are the same after a restart', async () => {
  const server = await startApp();
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { sandbox: 'workspace-write', approvalPolicy: 'untrusted' });
  await runTurn(client, threadId, 'say one', { effort: 'low' });
  const before = await client.request('thread/resume', { threadId });
  await server.restart();
  const later = await server.connect({ experimentalApi: true });
  const after = await later.request('thread/resume', { threadId });
  expect(after).toEqual(before);
});
