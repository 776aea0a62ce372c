// A view that fills its model's context window is summarised by itself: before a turn, in its middle, once and never for ever.

import { afterEach, describe, expect, test } from 'vitest';
import { deferred } from '../../src/base/signals.ts';
import { type ModelServer, responses, type Step, startModelServer, status, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, itemsOf, runTurn, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

/** An answer of which the provider counts so many tokens. */
const counting = (tokens: number, ...frames: string[]): Step =>
  stream([
    responses.created(),
    ...frames,
    responses.event('response.completed', {
      response: { status: 'completed', usage: { input_tokens: tokens - 1, output_tokens: 1 } },
    }),
  ]);
const saying = (tokens: number, words: string): Step => counting(tokens, ...responses.message(`msg_${words}`, [words]));
const calling = (tokens: number, id: string): Step =>
  counting(tokens, responses.call(id, 'exec_command', { cmd: `echo out-of-${id}` }));

const LIMITED = { model_auto_compact_token_limit: 1000 };
const FULL = { sandbox: 'danger-full-access', approvalPolicy: 'never' };
const inputOf = (model: ModelServer, request = -1) => JSON.stringify(model.requests.at(request)!.body.input);

async function limited(...script: Step[]) {
  const model = await startModelServer(...script);
  const base = { base_url: model.baseUrl, request_max_retries: 0, stream_max_retries: 0 };
  const server = await startApp({ backend: model, config: { ...LIMITED, model_providers: { scripted: base } } });
  const client = await server.connect();
  return { model, server, client, threadId: await startThread(client, FULL) };
}

test('before a turn: the model is asked with a summary, people see all they saw, and the new words stay as they are', async () => {
  const { model, client, threadId } = await limited(
    saying(1200, 'long'),
    saying(1200, 'SUMMARY'),
    saying(100, 'short'),
  );
  await runTurn(client, threadId, 'first');
  const turn = await runTurn(client, threadId, 'second');
  expect(turn.status).toBe('completed');
  expect(model.requests).toHaveLength(3);
  // The summary is asked of what was answered; the question is not part of it.
  expect(inputOf(model, 1)).not.toContain('second');
  expect(inputOf(model)).toContain('SUMMARY');
  expect(inputOf(model)).not.toContain('long');
  expect(inputOf(model).indexOf('second')).toBeGreaterThan(inputOf(model).indexOf('SUMMARY'));
  const types = (await itemsOf(client, threadId)).map(({ type }) => type);
  expect(types).toEqual(['userMessage', 'agentMessage', 'userMessage', 'contextCompaction', 'agentMessage']);
  await model.close();
});

test('in the middle of a turn: after the calls of an answer, and the work goes on', async () => {
  const { model, client, threadId } = await limited(
    ...[calling(1200, 'call_1'), saying(1200, 'SUMMARY'), calling(200, 'call_2'), saying(300, 'done')],
  );
  const turn = await runTurn(client, threadId, 'work');
  expect(turn.status).toBe('completed');
  expect(inputOf(model, 1)).toContain('out-of-call_1');
  expect(inputOf(model, 2)).not.toContain('out-of-call_1');
  expect(inputOf(model, 2)).toContain('work');
  expect(inputOf(model, 3)).toContain('out-of-call_2');
  const types = (await itemsOf(client, threadId)).map(({ type }) => type);
  expect(types).toEqual([
    ...['userMessage', 'commandExecution', 'contextCompaction', 'commandExecution', 'agentMessage'],
  ]);
  await model.close();
});

test('one that does not help is not tried again in the same turn', async () => {
  const { model, client, threadId } = await limited(
    ...[saying(5000, 'long'), saying(5000, 'SUMMARY'), calling(5000, 'a'), calling(5000, 'b'), saying(5000, 'done')],
  );
  await runTurn(client, threadId, 'first');
  expect((await runTurn(client, threadId, 'second')).status).toBe('completed');
  expect(model.requests).toHaveLength(5);
  expect((await itemsOf(client, threadId)).filter(({ type }) => type === 'contextCompaction')).toHaveLength(1);
  await model.close();
});

test('a first question that is too large by itself is asked as it is: there is nothing to summarise', async () => {
  const { model, client, threadId } = await limited(saying(100, 'answer'));
  expect((await runTurn(client, threadId, 'x'.repeat(8000))).status).toBe('completed');
  expect(model.requests).toHaveLength(1);
  await model.close();
});

describe('a model that refuses the view as too long', () => {
  test.each([
    ['in the same server', false],
    ['after a restart', true],
  ])('has it shortened before the next turn %s', async (_, restarts) => {
    const { model, server, client, threadId } = await limited(
      saying(100, 'old'),
      status(400, { error: { message: 'no room', code: 'context_length_exceeded' } }),
      saying(100, 'SUMMARY'),
      saying(100, 'fits'),
    );
    await runTurn(client, threadId, 'first');
    const refused = await runTurn(client, threadId, 'second');
    expect(refused).toMatchObject({ status: 'failed', error: { codexErrorInfo: 'contextWindowExceeded' } });
    if (restarts) await server.restart();
    const later = restarts ? await server.connect() : client;
    await later.request('thread/resume', { threadId });
    expect((await runTurn(later, threadId, 'third')).status).toBe('completed');
    expect(inputOf(model)).toContain('SUMMARY');
    expect(inputOf(model)).not.toContain('old');
    await model.close();
  });
});

test('a first message that is too long for the model does not spoil its thread', async () => {
  const tooLong = status(400, { error: { message: 'no room', code: 'context_length_exceeded' } });
  const { model, client, threadId } = await limited(tooLong, tooLong, saying(100, 'SUMMARY'), saying(100, 'ok'));
  expect((await runTurn(client, threadId, 'x'.repeat(200_000))).status).toBe('failed');
  expect((await runTurn(client, threadId, 'a short one')).status).toBe('completed');
  expect(inputOf(model)).toContain('a short one');
  expect(inputOf(model)).not.toContain('xxxxx');
  await model.close();
});

test('the size of a thread that was loaded anew is estimated', async () => {
  const long = 'word '.repeat(2000);
  const { model, server, client, threadId } = await limited(
    saying(100, long),
    saying(100, 'SUMMARY'),
    saying(100, 'ok'),
  );
  await runTurn(client, threadId, 'first');
  await server.restart();
  const later = await server.connect();
  await later.request('thread/resume', { threadId });
  expect((await runTurn(later, threadId, 'second')).status).toBe('completed');
  expect(inputOf(model)).toContain('SUMMARY');
  await model.close();
});

test('without a summary the turn fails, and the view is what it was', async () => {
  const { model, client, threadId } = await limited(
    saying(1200, 'long'),
    status(400, { error: { message: 'not now' } }),
    saying(100, 'SUMMARY'),
    saying(100, 'ok'),
  );
  await runTurn(client, threadId, 'first');
  const turn = await runTurn(client, threadId, 'second');
  expect(turn).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('not now') } });
  const started = client.news('item/started').map(({ item }) => item.id);
  const ended = client.news('item/completed').map(({ item }) => item.id);
  expect([...ended].sort()).toEqual([...started].sort());
  await runTurn(client, threadId, 'third');
  expect(inputOf(model, 2)).toContain('long');
  await model.close();
});

test('an interrupt ends it at once, with nothing changed', async () => {
  const reached = deferred();
  const { model, client, threadId } = await limited(saying(1200, 'long'), () => reached.resolve());
  await runTurn(client, threadId, 'first');
  const turnId = await startTurn(client, threadId, 'second');
  await reached.promise;
  expect(await client.request('turn/interrupt', { threadId, turnId })).toEqual({ physicallySettled: true });
  expect((await completed(client, turnId)).status).toBe('interrupted');
  await model.requests[1]!.closed;
  model.script(saying(100, 'SUMMARY'), saying(100, 'ok'));
  await runTurn(client, threadId, 'third');
  expect(inputOf(model, 2)).toContain('long');
  await model.close();
});

test('a kill in the middle of it leaves the view as it was', async () => {
  const reached = deferred();
  const { model, server, client, threadId } = await limited(saying(1200, 'long'), () => reached.resolve());
  await runTurn(client, threadId, 'first');
  await startTurn(client, threadId, 'second');
  await reached.promise;
  await client.notified('item/started', ({ item }) => item.type === 'contextCompaction');
  const after = await server.afterKill();
  const later = await after.connect();
  await later.request('thread/resume', { threadId });
  const { data } = await later.request('thread/turns/list', { threadId, itemsView: 'full' });
  expect(data[0]).toMatchObject({
    status: 'interrupted',
    items: [{ type: 'userMessage' }, { type: 'contextCompaction', completedAtMs: expect.any(Number) }],
  });
  model.script(saying(100, 'SUMMARY'), saying(100, 'ok'));
  expect((await runTurn(later, threadId, 'third')).status).toBe('completed');
  expect(inputOf(model, 2)).toContain('long');
  await model.close();
});
