// The two wire forms that go through provider libraries: the same facts, and the failures that libraries blur.

import { afterEach, describe, expect, test } from 'vitest';
import { anthropicClient } from '../../../../src/agent/models/anthropic.ts';
import { chatClient } from '../../../../src/agent/models/chat.ts';
import { ModelError, type ModelEvent, type ModelRequest } from '../../../../src/agent/models/client.ts';
import { createModelHttp, type ModelHttp } from '../../../../src/agent/models/http.ts';
import type { ContextItem } from '../../../../src/model/context.ts';
import {
  anthropic,
  chat,
  type Ending,
  type Step,
  startModelServer,
  status,
  stream,
} from '../../../harness/model-server.ts';
import { accessTo, collect, emptyRequest, joined } from './access.ts';

const https: ModelHttp[] = [];
afterEach(async () => {
  await Promise.all(https.splice(0).map((http) => http.close()));
});

function connect() {
  const http = createModelHttp();
  https.push(http);
  return http;
}

const never = new AbortController().signal;
const usage = {
  totalTokens: 130,
  inputTokens: 100,
  cachedInputTokens: 20,
  cacheWriteInputTokens: 0,
  outputTokens: 30,
  reasoningOutputTokens: 5,
};

const tool = { name: 'exec_command', description: 'runs', parameters: { type: 'object', properties: {} } };
const asked: ModelRequest = { ...emptyRequest, tools: [tool], effort: 'high' };

const forms = [
  {
    name: 'chat',
    client: chatClient,
    path: '/v1/chat/completions',
    key: ['authorization', 'Bearer key'],
    usage,
    whole: [
      ...chat.thinking('hm', 'mm'),
      ...chat.text('Grüße, ', '世界', ' 🙂'),
      ...chat.call('c1', 'exec_command', '{"cmd":"ls"}'),
      ...chat.end('tool_calls'),
    ],
    say: (...deltas: string[]) => [...chat.text(...deltas), ...chat.end('stop')],
    partial: (text: string) => chat.text(text),
    failed: chat.error('strange', 'weird'),
    tooLong: chat.end('length'),
    sealed: null,
    reasoning: 'reasoningText',
  },
  {
    name: 'anthropic',
    client: anthropicClient,
    path: '/v1/messages',
    key: ['x-api-key', 'key'],
    usage: { ...usage, reasoningOutputTokens: 0 },
    whole: [
      anthropic.start(),
      ...anthropic.thinking(0, 'sig', 'hm', 'mm'),
      ...anthropic.text(1, 'Grüße, ', '世界', ' 🙂'),
      ...anthropic.call(2, 'c1', 'exec_command', '{"cmd":"ls"}'),
      ...anthropic.end('tool_use'),
    ],
    say: (...deltas: string[]) => [anthropic.start(), ...anthropic.text(0, ...deltas), ...anthropic.end('end_turn')],
    partial: (text: string) => [anthropic.start(), ...anthropic.text(0, text).slice(0, 2)],
    failed: anthropic.error('weird', 'strange'),
    tooLong: [anthropic.start(), ...anthropic.end('max_tokens')],
    sealed: '{"signature":"sig"}',
    reasoning: 'summaryText',
  },
] as const;

describe.each(forms)('$name', (form) => {
  async function answerTo(step: Step, request = asked): Promise<readonly ModelEvent[]> {
    await using server = await startModelServer(step);
    return (await collect(form.client(accessTo(server), connect()).stream(request, never))).flat();
  }

  const expected = [
    { type: 'reasoningStarted', id: null },
    ...(form.reasoning === 'summaryText' ? [{ type: 'summaryPartAdded', index: 0 }] : []),
    { type: form.reasoning, index: 0, text: 'hmmm' },
    {
      type: 'reasoningCompleted',
      summary: form.reasoning === 'summaryText' ? ['hmmm'] : [],
      content: form.reasoning === 'summaryText' ? [] : ['hmmm'],
      sealed: form.sealed,
    },
    { type: 'messageStarted', id: null, phase: null },
    { type: 'text', text: 'Grüße, 世界 🙂' },
    { type: 'messageCompleted', text: 'Grüße, 世界 🙂', phase: null },
    { type: 'toolCall', callId: 'c1', name: 'exec_command', arguments: '{"cmd":"ls"}' },
    { type: 'usage', usage: form.usage },
    { type: 'finished', reason: 'toolCalls' },
  ];
  test('reasoning, text, a call and usage come through, however reads cut them', async () => {
    for (const size of [undefined, 1, 5, 64]) {
      expect(joined(await answerTo(stream(form.whole, 'close', size)))).toEqual(expected);
    }
  });

  test('deltas of one read are joined for the library and come out as they went in', async () => {
    const pieces = Array.from({ length: 200 }, (_, number) => `w${number} `);
    const events = await answerTo(stream(form.say(...pieces)));
    expect(events.flatMap((event) => (event.type === 'text' ? event.parts : []))).toEqual(pieces);
    expect(events.filter((event) => event.type === 'text').length).toBeLessThan(50);
  });

  test.each<[string, Ending | Step, Partial<ModelError['fault']>, string]>([
    ['cut', 'cut', { kind: 'stream' }, 'broke'],
    ['closed in the middle', 'close', { kind: 'stream' }, 'before the answer was over'],
    ['no JSON', stream([...form.partial('half'), 'data: {"type":\n\n'], 'stall'), { kind: 'stream' }, 'no JSON'],
    ['reported', stream([...form.partial('half'), form.failed]), { kind: 'reported', code: 'weird' }, 'strange'],
    ['refused', status(503, { error: { message: 'busy' } }), { kind: 'http', status: 503 }, 'busy'],
  ])('an answer that is %s fails as such', async (_, how, fault, message) => {
    const step = typeof how === 'string' ? stream(form.partial('half'), how) : how;
    await using server = await startModelServer(step);
    const seen: ModelEvent[] = [];
    const reading = (async () => {
      for await (const events of form.client(accessTo(server), connect()).stream(asked, never)) seen.push(...events);
    })();
    const error = await reading.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ModelError);
    expect((error as ModelError).fault).toMatchObject(fault);
    expect((error as ModelError).message).toContain(message);
    if (fault.kind !== 'http') expect(joined(seen)).toContainEqual({ type: 'text', text: 'half' });
  });

  test('silence counts as broken, an abort as cancelled, and both let go of the socket', async () => {
    await using server = await startModelServer(
      stream(form.partial('half'), 'stall'),
      stream(form.partial('half'), 'stall'),
    );
    const impatient = { ...accessTo(server), streamIdleMs: 30 };
    await expect(collect(form.client(impatient, connect()).stream(asked, never))).rejects.toMatchObject({
      fault: { kind: 'stream' },
      message: expect.stringContaining('nothing came'),
    });
    const abort = new AbortController();
    const reading = (async () => {
      for await (const events of form.client(accessTo(server), connect()).stream(asked, abort.signal))
        if (events.some((event) => event.type === 'text')) abort.abort();
    })();
    await expect(reading).rejects.toMatchObject({ kind: 'cancelled' });
    await Promise.all(server.requests.map((request) => request.closed));
  });

  test('nobody listening is a failure to connect', async () => {
    const server = await startModelServer();
    await server.close();
    await expect(collect(form.client(accessTo(server), connect()).stream(asked, never))).rejects.toMatchObject({
      fault: { kind: 'connect' },
    });
  });

  test('the answer ends with its last event, not with its body; running out of room is told', async () => {
    expect((await answerTo(stream(form.say('x'), 'keepOpen'))).at(-1)).toEqual({ type: 'finished', reason: 'stop' });
    expect((await answerTo(stream(form.tooLong))).at(-1)).toEqual({ type: 'finished', reason: 'length' });
  });

  test('key, headers and query are those of the configuration, and no other', async () => {
    await using server = await startModelServer(stream(form.say('x')), stream(form.say('x')));
    const access = { ...accessTo(server), headers: { 'X-Team': 'a' }, query: { version: '2' } };
    await collect(form.client({ ...access, apiKey: 'key' }, connect()).stream(asked, never));
    await collect(form.client(access, connect()).stream(asked, never));
    const [first, second] = server.requests;
    const [name, value] = form.key;
    expect(first?.url).toBe(`${form.path}?version=2`);
    expect(first?.headers).toMatchObject({ [name]: value, 'x-team': 'a' });
    expect(second?.headers).not.toHaveProperty(name);
  });
});

const history: ModelRequest['context'] = [
  { type: 'user', content: [{ type: 'text', text: 'go', text_elements: [] }] },
  { type: 'reasoning', id: 'r', summary: ['s'], content: ['c'], provider: 'scripted', sealed: '{"signature":"sig"}' },
  { type: 'assistant', id: 'a', text: 'first', phase: null },
  { type: 'toolCall', callId: 'a', name: 't', arguments: '{"x":1}' },
  { type: 'toolCall', callId: 'b', name: 't', arguments: '{broken' },
  { type: 'toolOutput', callId: 'b', output: 'B', success: false },
  { type: 'toolOutput', callId: 'a', output: 'A', success: true },
];

test('chat is sent the history in its form', async () => {
  await using server = await startModelServer(stream(forms[0].say('x')));
  await collect(chatClient(accessTo(server), connect()).stream({ ...asked, context: history }, never));
  expect(server.requests[0]?.body).toMatchObject({
    model: 'scripted-model',
    stream: true,
    stream_options: { include_usage: true },
    reasoning_effort: 'high',
    messages: [
      { role: 'system', content: 'be good' },
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: 'first',
        reasoning_content: 'c',
        tool_calls: [
          { id: 'a', function: { name: 't', arguments: '{"x":1}' } },
          { id: 'b', function: { name: 't', arguments: '{"unreadable":"{broken"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'A' },
      { role: 'tool', tool_call_id: 'b', content: 'B' },
    ],
  });
});

test.each([forms[0], forms[1]])('$name is never left with its own words as the last', async (form) => {
  await using server = await startModelServer(stream(form.say('x')));
  const context = [...history, { type: 'assistant' as const, id: 'b', text: 'said', phase: null }];
  await collect(form.client(accessTo(server), connect()).stream({ ...asked, context }, never));
  const messages = server.requests[0]?.body.messages;
  expect(Array.isArray(messages) && messages.at(-1)).toMatchObject({ role: 'user' });
});

test('Anthropic is sent the history in its form, with room, thinking and cache marks', async () => {
  await using server = await startModelServer(stream(forms[1].say('x')));
  const image = { type: 'image' as const, url: 'data:image/png;base64,aGk=', detail: null };
  const context = [...history, { type: 'user' as const, content: [image] }, { type: 'note' as const, text: 'stopped' }];
  await collect(anthropicClient(accessTo(server), connect()).stream({ ...asked, context }, never));
  const body = server.requests[0]?.body;
  expect(body).toMatchObject({
    max_tokens: 56_000,
    thinking: { type: 'enabled', budget_tokens: 24_000 },
    system: [{ type: 'text', text: 'be good', cache_control: { type: 'ephemeral' } }],
  });
  expect(body?.messages).toMatchObject([
    { role: 'user', content: [{ type: 'text', text: 'go' }] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 's', signature: 'sig' },
        { type: 'text', text: 'first' },
        { type: 'tool_use', id: 'a', name: 't', input: { x: 1 } },
        { type: 'tool_use', id: 'b', name: 't', input: { unreadable: '{broken' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'a', content: 'A' },
        { type: 'tool_result', tool_use_id: 'b', content: 'B', is_error: true },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
        { type: 'text', text: '<note>\nstopped\n</note>', cache_control: { type: 'ephemeral' } },
      ],
    },
  ]);
});

const shown: readonly ContextItem[] = [
  { type: 'user', content: [{ type: 'text', text: 'go', text_elements: [] }] },
  { type: 'toolCall', callId: 'a', name: 't', arguments: '{}' },
  { type: 'toolCall', callId: 'b', name: 't', arguments: '{}' },
  {
    ...{ type: 'toolOutput', callId: 'a', output: 'two dots', success: true },
    content: [
      { type: 'text', text: 'two dots' },
      { type: 'image', url: 'data:image/png;base64,aGk=' },
      { type: 'image', url: 'https://images.example/b.png' },
    ],
  },
  { type: 'toolOutput', callId: 'b', output: 'B', success: true },
];

test('images of an output follow all outputs in chat completions', async () => {
  await using server = await startModelServer(stream(forms[0].say('x')));
  await collect(chatClient(accessTo(server), connect()).stream({ ...asked, context: shown }, never));
  expect((server.requests[0]!.body.messages as object[]).slice(-3)).toMatchObject([
    { role: 'tool', tool_call_id: 'a', content: 'two dots\nIts images follow the outputs.' },
    { role: 'tool', tool_call_id: 'b', content: 'B' },
    {
      role: 'user',
      content: [
        { type: 'text', text: expect.stringContaining('Images of the output of a') },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
        { type: 'image_url', image_url: { url: 'https://images.example/b.png' } },
      ],
    },
  ]);
});

test('images of an output are a part of it at Anthropic, unless they are larger than it takes', async () => {
  await using server = await startModelServer(stream(forms[1].say('x')));
  const large = `data:image/png;base64,${'A'.repeat(5 * 2 ** 20 + 4)}`;
  const context = shown.map((item) =>
    item.type === 'toolOutput' && item.content
      ? { ...item, content: [...item.content, { type: 'image' as const, url: large }] }
      : item,
  );
  await collect(anthropicClient(accessTo(server), connect()).stream({ ...asked, context }, never));
  expect(server.requests[0]?.body.messages).toMatchObject([
    {},
    {},
    {
      role: 'user',
      content: [
        {
          ...{ type: 'tool_result', tool_use_id: 'a' },
          content: [
            { type: 'text', text: 'two dots' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
            { type: 'image', source: { type: 'url', url: 'https://images.example/b.png' } },
            { type: 'text', text: expect.stringContaining('larger than the provider takes') },
          ],
        },
        { type: 'tool_result', tool_use_id: 'b', content: 'B' },
      ],
    },
  ]);
});
