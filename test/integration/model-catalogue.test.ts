// Which models there are: asked from providers, added to what is configured, and never waited for for long.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { responses, startModelServer, status, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { Received } from '../harness/test-client.ts';
import { itemsOf, runTurn, startThread } from '../harness/turns.ts';
import { eventually } from '../unit/children/waiting.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

const KEY = 'sk-0123456789abcdef';
const ids = ({ data }: Received) => data.map(({ id }: Received) => id);

async function listing(answer: unknown, entry: object = {}, config: object = {}) {
  const model = await startModelServer();
  model.listModels(status(200, answer));
  const scripted = { base_url: model.baseUrl, http_headers: { Authorization: `Bearer ${KEY}` }, ...entry };
  // The clock stands still: a list takes what it takes.
  const clock = new ManualClock();
  const server = await startApp({ backend: model, clock, config: { model_providers: { scripted }, ...config } });
  return { model, server, clock, client: await server.connect() };
}

describe('a provider that lists its models', () => {
  test('in the form of OpenAI: the configured one first, what holds no conversation hidden, asked once', async () => {
    const data = [
      { id: 'big', object: 'model', owned_by: 'x' },
      { id: 'text-embedding-9', object: 'model' },
      { id: 'scripted-model', object: 'model', context_length: 4096 },
    ];
    const { model, client } = await listing({ object: 'list', data });
    const first = await client.request('model/list', {});
    expect(first.data).toMatchObject([
      { id: 'scripted-model', isDefault: true, contextWindow: 4096, modelProvider: 'scripted' },
      { id: 'big', isDefault: false, hidden: false },
    ]);
    expect(ids(await client.request('model/list', { includeHidden: true }))).toEqual([
      ...['scripted-model', 'big', 'text-embedding-9'],
    ]);
    const page = await client.request('model/list', { limit: 1 });
    expect(ids(page)).toEqual(['scripted-model']);
    expect(ids(await client.request('model/list', { limit: 1, cursor: page.nextCursor }))).toEqual(['big']);
    expect(model.lists).toEqual(['/v1/models']);
    await model.close();
  });

  test('in the form of Anthropic, page by page', async () => {
    const { model, client } = await listing({ data: [] }, { wire_api: 'anthropic' });
    model.listModels((response, request) => {
      const isFirst = !request.url.includes('after_id');
      const data = [{ type: 'model', id: isFirst ? 'opus' : 'haiku', display_name: isFirst ? 'Opus' : 'Haiku' }];
      return status(200, { data, has_more: isFirst, last_id: 'opus' })(response, request);
    });
    const { data } = await client.request('model/list', {});
    expect(data.map(({ displayName }: Received) => displayName)).toEqual(['scripted-model', 'Opus', 'Haiku']);
    expect(model.lists).toEqual(['/v1/models?limit=1000', '/v1/models?limit=1000&after_id=opus']);
    await model.close();
  });

  test('in the form of Gemini, whose names have a collection before them', async () => {
    const { model, client } = await listing({ data: [{ id: 'models/gemini-x', object: 'model' }] });
    expect(ids(await client.request('model/list', {}))).toEqual(['scripted-model', 'gemini-x']);
    await model.close();
  });

  test('with what models take, where it says so', async () => {
    const data = [
      { id: 'seeing', architecture: { input_modalities: ['text', 'image', 'file'] } },
      { id: 'blind', capabilities: { vision: false } },
    ];
    const { model, client } = await listing({ data });
    const listed = (await client.request('model/list', {})).data.slice(1);
    expect(listed.map((each: Received) => each.inputModalities)).toEqual([['text', 'image'], ['text']]);
    await model.close();
  });
});

test('what is configured of a model goes before what its provider says', async () => {
  const models = {
    known: { name: 'Known', context_window: 1000, modalities: ['text'], efforts: ['low', 'odd'], hidden: false },
    gone: { hidden: true },
  };
  const { model, client } = await listing({ data: [{ id: 'known', context_length: 5 }] }, { models });
  const { data } = await client.request('model/list', { includeHidden: true });
  expect(ids({ data })).toEqual(['scripted-model', 'known', 'gone']);
  expect(data[1]).toMatchObject({
    displayName: 'Known',
    contextWindow: 1000,
    inputModalities: ['text'],
    supportedReasoningEfforts: [{ reasoningEffort: 'low' }, { reasoningEffort: 'odd' }],
    defaultReasoningEffort: 'low',
  });
  await model.close();
});

describe('a provider that does not list them leaves those of the configuration', () => {
  test.each([
    ['it has no such page', status(404, {})],
    ['its list is none', status(200, 'nonsense')],
    ['it refuses the key, and repeats it', status(401, { error: { message: `bad key ${KEY}` } })],
  ])('because %s', async (_, step) => {
    const { model, client } = await listing({});
    model.listModels(step);
    expect(ids(await client.request('model/list', {}))).toEqual(['scripted-model']);
    expect(JSON.stringify(client.transcript)).not.toContain(KEY);
    await model.close();
  });

  test('because it does not answer: the list comes without it, and a turn does not wait either', async () => {
    const { model, client, clock } = await listing({});
    model.listModels(() => {});
    model.script(stream(responses.say('hello')));
    const list = client.post('model/list', {});
    expect((await runTurn(client, await startThread(client), 'speak')).status).toBe('completed');
    await eventually('the list', () => {
      clock.advance(100);
      return client.transcript.some(({ id }) => id === list);
    });
    expect(ids(await client.answerTo(list))).toEqual(['scripted-model']);
    await model.close();
  });

  test('because it is not to be asked', async () => {
    const { model, client } = await listing({ data: [{ id: 'other' }] }, { list_models: false });
    expect(ids(await client.request('model/list', {}))).toEqual(['scripted-model']);
    expect(model.lists).toEqual([]);
    await model.close();
  });
});

test('providers are listed without their secrets; one that is not configured has no models', async () => {
  const other = { base_url: 'https://user:secret@example.test/v1', env_key: 'OTHER_KEY', name: 'Other' };
  const { model, client } = await listing({});
  await model.close();
  const server = await startApp({ backend: model, config: { model_providers: { other }, model_provider: 'other' } });
  const second = await server.connect();
  const { data, defaultProviderId, canChangeDefault } = await second.request('modelProvider/list', {});
  expect({ defaultProviderId, canChangeDefault }).toEqual({ defaultProviderId: 'other', canChangeDefault: true });
  expect(data).toMatchObject([
    { id: 'openai', baseUrl: 'https://api.openai.com/v1', settings: { type: 'openai' } },
    { id: 'anthropic', settings: { auth: { mode: 'environmentVariable', envKey: 'ANTHROPIC_API_KEY' } } },
    { id: 'other', name: 'Other', canEdit: true, baseUrl: null, settings: { type: 'customGateway' } },
  ]);
  expect(JSON.stringify(second.transcript)).not.toContain('secret');
  const refusal = await client.refusal('model/list', { modelProvider: 'nowhere' });
  expect(refusal.data).toMatchObject({ type: 'modelProviderNotConfigured', modelProvider: 'nowhere' });
});

describe('providers are written', () => {
  const write = (settings: object) => ({ settings: { type: 'customGateway', ...settings } });

  test('into the file, and count from the next turn on', async () => {
    const model = await startModelServer(stream(responses.say('hello')));
    const server = await startApp({ backend: model });
    const client = await server.connect();
    const wanted = { name: 'My Own!', baseUrl: model.baseUrl, envKey: null };
    const { provider } = await client.request('modelProvider/config/write', write(wanted));
    expect(provider).toMatchObject({ id: 'my-own', name: 'My Own!', canEdit: true, baseUrl: model.baseUrl });
    const again = await client.request('modelProvider/config/write', write(wanted));
    expect(again.provider.id).toBe('my-own-2');
    const renamed = await client.request('modelProvider/config/write', write({ providerId: 'my-own', name: 'Mine' }));
    expect(renamed.provider).toMatchObject({ id: 'my-own', name: 'Mine', baseUrl: model.baseUrl });
    expect(await client.request('modelProvider/default/set', { providerId: 'my-own' })).toMatchObject({ status: 'ok' });
    const threadId = await startThread(client);
    expect((await client.request('thread/read', { threadId })).thread.modelProvider).toBe('my-own');
    expect((await runTurn(client, threadId, 'speak')).status).toBe('completed');
    await model.close();
  });

  test.each([
    [write({ name: 'Nowhere' }), 'configValidationError'],
    [write({ name: 'Odd', baseUrl: 'https://user:secret@example.test' }), 'configValidationError'],
    [write({ providerId: 'scripted', baseUrl: 'nonsense' }), 'configValidationError'],
    [write({ providerId: 'nope', name: 'x' }), 'configPathNotFound'],
    [{ providerId: 'nope' }, 'configValidationError'],
  ])('not %j', async (params, code) => {
    const { model, client } = await listing({});
    const method = 'settings' in params ? 'modelProvider/config/write' : 'modelProvider/default/set';
    expect((await client.refusal(method, params)).data.config_write_error_code).toBe(code);
    await model.close();
  });

  test('by administrators only', async () => {
    const { model, server } = await listing({});
    const permissions = new Set(['thread:read', 'thread:write', 'config'] as const);
    const client = await server.connectAs({ tenant: 'local', subject: 'far', permissions, isLocal: false });
    expect((await client.request('modelProvider/list', {})).canChangeDefault).toBe(false);
    for (const [method, params] of [
      ['modelProvider/config/write', write({ name: 'x', baseUrl: 'https://example.test' })],
      ['modelProvider/default/set', { providerId: 'openai' }],
    ] as const)
      expect((await client.refusal(method, params)).data).toMatchObject({ kind: 'forbidden' });
    await model.close();
  });
});

test('a thread whose provider is gone is read and resumed, and takes another one for its next turn', async () => {
  const gone = await startModelServer(
    stream([
      responses.created(),
      responses.event('response.output_item.done', {
        output_index: 0,
        item: { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'SEALED-BY-THE-OLD-ONE' },
      }),
      ...responses.message('msg_1', ['said by the old one']),
      responses.completed(),
    ]),
  );
  const next = await startModelServer(stream(responses.say('hello')), stream(responses.say('again')));
  const server = await startApp({ backend: gone });
  const client = await server.connect();
  const threadId = await startThread(client);
  await runTurn(client, threadId, 'speak');
  const config = { backend: 'runtime', model_providers: { next: { base_url: next.baseUrl, request_max_retries: 0 } } };
  await writeFile(join(server.dataDirectory, 'config.yaml'), JSON.stringify(config));
  await server.restart();
  const later = await server.connect();
  expect((await later.request('thread/list', {})).data).toMatchObject([{ id: threadId, modelProvider: 'scripted' }]);
  expect((await later.request('thread/read', { threadId })).thread.modelProvider).toBe('scripted');
  await later.request('thread/resume', { threadId });
  const warning = await later.notified('warning');
  expect(warning).toMatchObject({ threadId, message: expect.stringContaining('scripted') });
  const without = await runTurn(later, threadId, 'without one');
  expect(without).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('scripted') } });
  const unknown = await later.refusal('turn/start', { threadId, input: [], modelProvider: 'nowhere' });
  expect(unknown.data).toMatchObject({ type: 'modelProviderNotConfigured' });
  const turn = await runTurn(later, threadId, 'with one', { modelProvider: 'next', model: 'other' });
  expect(turn.status).toBe('completed');
  const asked = JSON.stringify(next.requests[0]!.body);
  expect(asked).toContain('said by the old one');
  expect(asked).not.toContain('SEALED-BY-THE-OLD-ONE');
  expect(later.news('thread/settings/updated').at(-1)!.threadSettings).toMatchObject({ modelProvider: 'next' });
  expect((await runTurn(later, threadId, 'and on')).status).toBe('completed');
  expect(await itemsOf(later, threadId)).toHaveLength(8);
  await gone.close();
  await next.close();
});
