// The Responses wire form: what is sent, what is understood, how it fails, and that sockets are let go of.

import { afterEach, expect, test } from 'vitest';
import { ModelError, type ModelEvent } from '../../../../src/agent/models/client.ts';
import { createModelHttp, type ModelHttp } from '../../../../src/agent/models/http.ts';
import { responsesClient } from '../../../../src/agent/models/responses.ts';
import { isAppError } from '../../../../src/base/errors.ts';
import { responses, type Step, startModelServer, status, stream } from '../../../harness/model-server.ts';
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

const noAbort = new AbortController().signal;

async function answerTo(...steps: readonly Step[]): Promise<readonly ModelEvent[]> {
  await using server = await startModelServer(...steps);
  return (await collect(responsesClient(accessTo(server), connect()).stream(emptyRequest, noAbort))).flat();
}

const failureOf = async (...steps: readonly Step[]): Promise<ModelError> =>
  answerTo(...steps).then(
    () => expect.unreachable('the stream did not fail'),
    (error: unknown) => (error instanceof ModelError ? error : expect.unreachable(String(error))),
  );

test('a message with phase, reasoning with both texts, calls and usage come through', async () => {
  const reasoning = [
    responses.event('response.output_item.added', { output_index: 0, item: { type: 'reasoning', id: 'rs_1' } }),
    responses.event('response.reasoning_summary_part.added', { summary_index: 0 }),
    responses.event('response.reasoning_summary_text.delta', { summary_index: 0, delta: 'plan' }),
    responses.event('response.reasoning_text.delta', { content_index: 0, delta: 'raw' }),
    responses.event('response.output_item.done', {
      output_index: 0,
      item: {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'plan' }],
        content: [{ type: 'reasoning_text', text: 'raw' }],
        encrypted_content: 'sealed',
      },
    }),
  ];
  const events = await answerTo(
    stream([
      ...reasoning,
      ...responses.message('msg_1', ['Hel', 'lo'], { phase: 'commentary' }),
      responses.call('call_1', 'exec_command', { cmd: 'ls' }),
      responses.completed(),
    ]),
  );
  expect(joined(events)).toEqual([
    { type: 'reasoningStarted', id: 'rs_1' },
    { type: 'summaryPartAdded', index: 0 },
    { type: 'summaryText', index: 0, text: 'plan' },
    { type: 'reasoningText', index: 0, text: 'raw' },
    { type: 'reasoningCompleted', summary: ['plan'], content: ['raw'], sealed: 'sealed' },
    { type: 'messageStarted', id: 'msg_1', phase: 'commentary' },
    { type: 'text', text: 'Hello' },
    { type: 'messageCompleted', text: 'Hello', phase: 'commentary' },
    { type: 'toolCall', callId: 'call_1', name: 'exec_command', arguments: '{"cmd":"ls"}' },
    {
      type: 'usage',
      usage: {
        totalTokens: 130,
        inputTokens: 100,
        cachedInputTokens: 20,
        cacheWriteInputTokens: 0,
        outputTokens: 30,
        reasoningOutputTokens: 5,
      },
    },
    { type: 'finished', reason: 'toolCalls' },
  ]);
});

test('deltas of one read become one event, their pieces kept apart', async () => {
  const pieces = Array.from({ length: 50 }, (_, number) => `w${number} `);
  await using server = await startModelServer(stream(responses.say(...pieces)));
  const reads = await collect(responsesClient(accessTo(server), connect()).stream(emptyRequest, noAbort));
  for (const read of reads) expect(read.filter((event) => event.type === 'text').length).toBeLessThanOrEqual(1);
  const parts = reads.flat().flatMap((event) => (event.type === 'text' ? event.parts : []));
  expect(parts).toEqual(pieces);
});

test.each([1, 2, 3, 7, 64])('events cut every %i bytes read the same', async (size) => {
  const frames = responses.say('Grüße, ', '世界', ' 🙂');
  const whole = await answerTo(stream(frames));
  expect(joined(await answerTo(stream(frames, 'close', size)))).toEqual(joined(whole));
});

test('the answer ends with its last event, not with its body', async () => {
  const events = await answerTo(stream(responses.say('one'), 'keepOpen'));
  expect(events.at(-1)).toEqual({ type: 'finished', reason: 'stop' });
});

test('a socket whose answer was left at its last event serves again', async () => {
  const steps = Array.from({ length: 10 }, () => stream(responses.say('one')));
  await using server = await startModelServer(...steps);
  const client = responsesClient(accessTo(server), connect());
  for (const [index] of steps.entries()) {
    await collect(client.stream(emptyRequest, noAbort));
    await server.requests[index]?.closed;
  }
  // The end of a body may be read after the next request has gone out, but not each time.
  expect(server.connections()).toBeLessThan(steps.length);
});

test('what is sent has the form of the API, and keeps foreign seals back', async () => {
  await using server = await startModelServer(stream(responses.say('ok')));
  const access = { ...accessTo(server), headers: { 'X-Team': 'a' }, query: { version: '2' }, apiKey: 'key' };
  const reasoning = { type: 'reasoning' as const, id: 'rs_1', summary: ['s'], content: ['c'], sealed: 'blob' };
  await collect(
    responsesClient(access, connect()).stream(
      {
        ...emptyRequest,
        effort: 'high',
        summary: 'auto',
        outputSchema: { type: 'object' },
        context: [
          { type: 'user', content: [{ type: 'text', text: 'hi', text_elements: [] }] },
          { ...reasoning, provider: 'scripted' },
          { ...reasoning, provider: 'another' },
          { type: 'toolCall', callId: 'a', name: 't', arguments: '{}' },
          { type: 'toolCall', callId: 'b', name: 't', arguments: '{}' },
          { type: 'toolOutput', callId: 'b', output: 'B', success: true },
          { type: 'toolOutput', callId: 'a', output: 'A', success: true },
          { type: 'assistant', id: 'msg_9', text: 'done', phase: null },
          { ...reasoning, id: 'rs_2', provider: 'scripted' },
        ],
      },
      noAbort,
    ),
  );
  const [request] = server.requests;
  expect(request?.url).toBe('/v1/responses?version=2');
  expect(request?.headers).toMatchObject({ authorization: 'Bearer key', 'x-team': 'a' });
  expect(request?.body).toMatchObject({
    model: 'scripted-model',
    store: false,
    stream: true,
    parallel_tool_calls: true,
    reasoning: { effort: 'high', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'thread-1',
    text: { format: { type: 'json_schema', schema: { type: 'object' } } },
  });
  expect(request?.body.input).toEqual([
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 's' }], encrypted_content: 'blob' },
    { type: 'function_call', call_id: 'a', name: 't', arguments: '{}' },
    { type: 'function_call', call_id: 'b', name: 't', arguments: '{}' },
    { type: 'function_call_output', call_id: 'a', output: 'A' },
    { type: 'function_call_output', call_id: 'b', output: 'B' },
    {
      type: 'message',
      role: 'assistant',
      id: 'msg_9',
      content: [{ type: 'output_text', text: 'done', annotations: [] }],
    },
  ]);
});

test('a status is told with its body, its reason and the wait it asks for', async () => {
  const error = await failureOf(status(503, { error: { message: 'busy' } }, { 'retry-after': '2' }));
  expect(error.message).toBe('busy');
  expect(error.retryAfterMs).toBe(2000);
  expect(error.fault).toMatchObject({ kind: 'http', status: 503, body: '{"error":{"message":"busy"}}' });
});

test.each<[string, Step, Partial<ModelError['fault']>, string]>([
  ['cut', stream(responses.partial('msg_1', 'half'), 'cut'), { kind: 'stream' }, 'broke'],
  ['closed early', stream(responses.partial('msg_1', 'half')), { kind: 'stream' }, 'before response.completed'],
  ['no JSON', stream(['data: {"type":\n\n']), { kind: 'stream' }, 'no JSON'],
  ['failed', stream([responses.failed('weird', 'strange')]), { kind: 'reported', code: 'weird' }, 'strange'],
  [
    'error event',
    stream([responses.event('error', { code: 'server_error', message: 'oops' })]),
    { kind: 'reported', code: 'server_error' },
    'oops',
  ],
])('a stream that is %s fails as such', async (_, step, fault, message) => {
  const error = await failureOf(step);
  expect(error.fault).toMatchObject(fault);
  expect(error.message).toContain(message);
});

test('what came before a failure in the same read is not lost', async () => {
  await using server = await startModelServer(
    stream([...responses.partial('msg_1', 'half'), responses.failed('weird', 'strange')]),
  );
  const seen: ModelEvent[] = [];
  const reading = (async () => {
    for await (const events of responsesClient(accessTo(server), connect()).stream(emptyRequest, noAbort))
      seen.push(...events);
  })();
  await expect(reading).rejects.toThrow('strange');
  expect(joined(seen)).toContainEqual({ type: 'text', text: 'half' });
});

test('a hint in words sets the wait', async () => {
  const error = await failureOf(stream([responses.failed('rate_limit_exceeded', 'Please try again in 0.3s.')]));
  expect(error.retryAfterMs).toBe(300);
});

test('an incomplete answer ends for the reason given', async () => {
  const frame = responses.event('response.incomplete', {
    response: { incomplete_details: { reason: 'max_output_tokens' } },
  });
  expect((await answerTo(stream([frame]))).at(-1)).toEqual({ type: 'finished', reason: 'length' });
});

test('nobody listening is a failure to connect', async () => {
  const server = await startModelServer();
  await server.close();
  const reading = collect(responsesClient(accessTo(server), connect()).stream(emptyRequest, noAbort));
  await expect(reading).rejects.toMatchObject({ name: 'ModelError', fault: { kind: 'connect' } });
});

test.each<[string, Step]>([
  ['before the first byte', () => {}],
  ['in the middle', stream(responses.partial('msg_1', 'half'), 'stall')],
])('silence %s counts as broken', async (_, step) => {
  await using server = await startModelServer(step);
  const access = { ...accessTo(server), streamIdleMs: 30 };
  const error = await collect(responsesClient(access, connect()).stream(emptyRequest, noAbort)).catch((e) => e);
  expect(error).toMatchObject({ name: 'ModelError', fault: { kind: 'stream' } });
  await server.requests[0]?.closed;
});

test('an abort lets go of the socket and is told as cancelled', async () => {
  await using server = await startModelServer(stream(responses.partial('msg_1', 'half'), 'stall'));
  const abort = new AbortController();
  const reading = (async () => {
    for await (const events of responsesClient(accessTo(server), connect()).stream(emptyRequest, abort.signal))
      if (events.some((event) => event.type === 'text')) abort.abort();
  })();
  const error = await reading.catch((e: unknown) => e);
  expect(isAppError(error, 'cancelled')).toBe(true);
  await server.requests[0]?.closed;
});

test('an abort before the answer does so too', async () => {
  await using server = await startModelServer(() => {});
  const abort = new AbortController();
  const reading = collect(responsesClient(accessTo(server), connect()).stream(emptyRequest, abort.signal));
  await server.received(1);
  abort.abort();
  await expect(reading).rejects.toMatchObject({ kind: 'cancelled' });
  await server.requests[0]?.closed;
});

test('a base URL that is none is refused as a configuration', async () => {
  const access = { ...accessTo({ baseUrl: 'nonsense' }), apiKey: undefined };
  await expect(collect(responsesClient(access, connect()).stream(emptyRequest, noAbort))).rejects.toMatchObject({
    kind: 'invalid',
  });
});

const PATCH_SPEC = {
  name: 'patch',
  description: 'patches',
  parameters: { type: 'object' },
  custom: { syntax: 'lark' as const, definition: 'start: "x"' },
};

test.each([
  [
    true,
    { type: 'custom', name: 'patch', description: 'patches', format: { type: 'grammar', ...PATCH_SPEC.custom } },
    [
      { type: 'custom_tool_call', call_id: 'a', name: 'patch', input: 'text' },
      { type: 'custom_tool_call_output', call_id: 'a', output: 'A' },
    ],
  ],
  [
    false,
    { type: 'function', strict: false, name: 'patch', description: 'patches', parameters: { type: 'object' } },
    [
      { type: 'function_call', call_id: 'a', name: 'patch', arguments: '{"input":"text"}' },
      { type: 'function_call_output', call_id: 'a', output: 'A' },
    ],
  ],
])(
  'a tool that takes plain text is sent as such where the provider knows it: %j',
  async (hasCustomTools, tool, calls) => {
    await using server = await startModelServer(stream(responses.say('ok')));
    const call = {
      type: 'toolCall' as const,
      callId: 'a',
      name: 'patch',
      arguments: '{"input":"text"}',
      custom: true as const,
    };
    const output = { type: 'toolOutput' as const, callId: 'a', output: 'A', success: true };
    const request = { ...emptyRequest, tools: [PATCH_SPEC], context: [...emptyRequest.context, call, output] };
    await collect(responsesClient({ ...accessTo(server), hasCustomTools }, connect()).stream(request, noAbort));
    const body = server.requests[0]!.body as { readonly tools: unknown; readonly input: readonly unknown[] };
    expect(body.tools).toEqual([tool]);
    expect(body.input.slice(1)).toEqual(calls);
  },
);

test('numbers that are none come through as counts', async () => {
  const events = await answerTo(
    stream([
      responses.event('response.output_item.added', { output_index: 0, item: { type: 'reasoning', id: 'rs_1' } }),
      responses.event('response.reasoning_summary_part.added', { summary_index: 4e9 }),
      responses.event('response.reasoning_summary_text.delta', { summary_index: -1, delta: 'plan' }),
      responses.event('response.reasoning_text.delta', { content_index: 0.5, delta: 'raw' }),
      responses.event('response.completed', {
        response: { id: 'r', usage: { input_tokens: 1.5, output_tokens: -3 } },
      }),
    ]),
  );
  const indices = events.flatMap((event) => ('index' in event ? [event.index] : []));
  expect(indices).toEqual([1_000, 0, 0]);
  const usage = events.find(({ type }) => type === 'usage');
  expect(usage).toMatchObject({ usage: { totalTokens: 1, inputTokens: 1, outputTokens: 0 } });
});
