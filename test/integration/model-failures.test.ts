// A model that fails: tried again a bounded number of times, told to clients, and the thread goes on.

import { afterEach, expect, test } from 'vitest';
import { deferred } from '../../src/base/signals.ts';
import { responses, startModelServer, status, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, itemsOf, runTurn, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

test('a stream that breaks off is tried again; what was shown of it is completed', async () => {
  const model = await startModelServer(
    stream([responses.created(), ...responses.partial('msg_1', 'half a ')], 'cut'),
    stream(responses.say('whole')),
  );
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client);
  expect((await runTurn(client, threadId, 'speak')).status).toBe('completed');
  expect(client.news('error')).toMatchObject([{ willRetry: true, threadId }]);
  const started = client.news('item/started').map(({ item }) => item.id);
  const ended = client.news('item/completed').map(({ item }) => item.id);
  expect(ended).toEqual(started);
  expect((await itemsOf(client, threadId)).map(({ text }) => text)).toEqual([undefined, 'half a ', 'whole']);
  await model.close();
});

test('a model that stays away fails the turn after its retries, and the next turn works', async () => {
  const cut = stream([responses.created()], 'cut');
  const model = await startModelServer(cut, cut, stream(responses.say('back')));
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client);
  const turn = await runTurn(client, threadId, 'speak');
  expect(turn.status).toBe('failed');
  expect(turn.error.message).not.toBe('');
  expect(client.news('error').map(({ willRetry }) => willRetry)).toEqual([true, false]);
  expect((await client.request('thread/read', { threadId })).thread.status).toEqual({ type: 'systemError' });
  expect((await runTurn(client, threadId, 'again')).status).toBe('completed');
  expect((await client.request('thread/read', { threadId })).thread.status).toEqual({ type: 'idle' });
  await model.close();
});

test('an interrupt ends the wait before the next try, and nothing is asked any more', async () => {
  const busy = status(503, { error: { message: 'busy' } }, { 'retry-after': '30' });
  const refused = deferred();
  const model = await startModelServer(
    (response, ...more) => {
      response.once('close', () => refused.resolve());
      return busy(response, ...more);
    },
    stream(responses.say('next')),
  );
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client);
  const turnId = await startTurn(client, threadId, 'speak');
  await refused.promise;
  expect(await client.request('turn/interrupt', { threadId, turnId })).toEqual({ physicallySettled: true });
  expect((await completed(client, turnId)).status).toBe('interrupted');
  expect(model.requests).toHaveLength(1);
  expect((await runTurn(client, threadId, 'again')).status).toBe('completed');
  expect(model.requests).toHaveLength(2);
  await model.close();
});

test('a refusal that no retry mends fails at once', async () => {
  const model = await startModelServer(status(400, { error: { message: 'no such model' } }));
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client);
  const turn = await runTurn(client, threadId, 'speak');
  expect(turn).toMatchObject({ status: 'failed' });
  expect(turn.error.message).toContain('no such model');
  expect(client.news('error').map(({ willRetry }) => willRetry)).toEqual([false]);
  expect(model.requests).toHaveLength(1);
  await model.close();
});

test('without a backend every turn says what to configure, and the thread is unharmed', async () => {
  const server = await startApp({ backend: 'unavailable' });
  const client = await server.connect();
  const threadId = await startThread(client);
  const turn = await runTurn(client, threadId, 'speak');
  expect(turn.status).toBe('failed');
  expect(turn.error.message).toMatch(/backend/i);
  expect((await itemsOf(client, threadId)).map(({ type }) => type)).toEqual(['userMessage']);
});

test('a provider that has gone from the configuration fails the turn by name, and reading goes on', async () => {
  const model = await startModelServer(stream(responses.say('hello')));
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client);
  await runTurn(client, threadId, 'speak');
  const { writeFile } = await import('node:fs/promises');
  await writeFile(server.app.config.file, JSON.stringify({ backend: 'runtime', model: 'm' }));
  await server.restart();
  const later = await server.connect();
  expect((await later.request('thread/list', {})).data).toHaveLength(1);
  expect((await later.request('thread/resume', { threadId })).modelProvider).toBe('scripted');
  const turn = await runTurn(later, threadId, 'again');
  expect(turn).toMatchObject({ status: 'failed' });
  expect(turn.error.message).toContain('scripted');
  expect(await itemsOf(later, threadId)).toHaveLength(3);
  await model.close();
});

test.each([400, 401, 503])(
  'a provider that repeats the secrets it was sent in a status %i tells no client of them',
  async (code) => {
    const secret = 'Bearer sk-0123456789abcdef';
    const echo = { error: { message: `Incorrect key: sk-0123456789abcdef (${secret}) ${'x'.repeat(50_000)}` } };
    const model = await startModelServer(...Array(6).fill(status(code, echo)), stream(responses.say('back')));
    const scripted = {
      base_url: model.baseUrl,
      wire_api: 'responses',
      http_headers: { Authorization: secret },
      request_max_retries: 0,
      stream_max_retries: 1,
    };
    const server = await startApp({ backend: model, config: { model_providers: { scripted } } });
    const client = await server.connect();
    const turn = await runTurn(client, await startThread(client), 'speak');
    expect(turn.status).toBe('failed');
    expect(turn.error.message).toContain('Incorrect key');
    expect(turn.error.message.length).toBeLessThan(3000);
    expect(model.requests[0]!.headers.authorization).toBe(secret);
    expect(JSON.stringify(client.transcript)).not.toContain('0123456789abcdef');
    await model.close();
  },
);
