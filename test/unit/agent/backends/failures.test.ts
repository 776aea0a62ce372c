// Failures of the model as clients see them: what is tried again, how it is told, how the turn ends.

import { afterEach, expect, test } from 'vitest';
import { createTurnRuntime, type Retries } from '../../../../src/agent/backends/runtime.ts';
import { createModelHttp, type ModelHttp } from '../../../../src/agent/models/http.ts';
import { responsesClient } from '../../../../src/agent/models/responses.ts';
import { responses, type Step, startModelServer, status, stream } from '../../../harness/model-server.ts';
import { accessTo } from '../models/access.ts';
import { contextIn, house, hurriedClock, outcome, turnOf, userSays } from './turn.ts';

const https: ModelHttp[] = [];
afterEach(async () => {
  await Promise.all(https.splice(0).map((http) => http.close()));
});

async function fail(steps: readonly Step[], retries: Retries = { request: 0, stream: 1 }) {
  await using server = await startModelServer(...steps);
  const clock = hurriedClock();
  const http = createModelHttp();
  https.push(http);
  const client = responsesClient(accessTo(server), http);
  const backend = createTurnRuntime({
    route: () => ({ client, retries, conceal: (text) => text }),
    models: async () => [],
    clock,
    random: () => 0.5,
  });
  const { events, thrown } = await outcome(
    backend.run(turnOf([userSays('go')]), house(), new AbortController().signal),
  );
  expect(thrown).toBeUndefined();
  const errors = events.flatMap((event) => (event.type === 'retrying' || event.type === 'failed' ? [event] : []));
  return { events, errors, requests: server.requests.length, waits: clock.waits };
}

const fault = (message: string, more = {}) => ({ error: { message, ...more } });
const cut = stream(responses.partial('msg_1', 'half a sen'), 'cut');
const early = stream([responses.created()]);
const failed = (code: string, message: string) => stream([responses.failed(code, message)]);
const incomplete = stream([
  responses.event('response.incomplete', { response: { incomplete_details: { reason: 'max_output_tokens' } } }),
]);
const http = (code: number) => ({ httpConnectionFailed: { httpStatusCode: code } });

test.each<[string, Step, unknown, string, number | null | 'not retried']>([
  ['500', status(500, fault('kaboom')), 'internalServerError', 'kaboom', null],
  ['429', status(429, fault('x')), { responseTooManyFailedAttempts: { httpStatusCode: 429 } }, '429', 'not retried'],
  [
    '429 used up',
    status(429, fault('l', { type: 'usage_limit_reached' })),
    'usageLimitExceeded',
    'limit',
    'not retried',
  ],
  ['401', status(401, fault('bad key')), http(401), 'unexpected status 401 Unauthorized: bad key, url: http', 401],
  ['404', status(404, fault('no model')), http(404), 'unexpected status 404 Not Found: no model', 404],
  ['400', status(400, fault('Bad thing')), 'other', '{"error":{"message":"Bad thing"}}', 'not retried'],
  [
    '503',
    status(503, fault('busy', { code: 'server_is_overloaded' })),
    'serverOverloaded',
    'overloaded',
    'not retried',
  ],
  ['cut', cut, 'other', 'stream disconnected before completion', null],
  ['early end', early, 'other', 'stream closed before response.completed', null],
  ['too long', failed('context_length_exceeded', 'too long'), 'contextWindowExceeded', 'window', 'not retried'],
  ['quota', failed('insufficient_quota', 'no quota'), 'usageLimitExceeded', 'no quota', 'not retried'],
  ['overloaded', failed('server_is_overloaded', 'busy'), 'serverOverloaded', 'overloaded', 'not retried'],
  ['bad prompt', failed('invalid_prompt', 'bad prompt'), 'other', 'bad prompt', 'not retried'],
  ['unknown', failed('weird', 'strange'), 'other', 'stream disconnected before completion: strange', null],
  ['incomplete', incomplete, 'other', 'max_output_tokens', 'not retried'],
])('%s ends as the table says', async (_, step, info, message, retried) => {
  const { errors, requests } = await fail([step, step, step]);
  const last = errors.at(-1);
  expect(last).toMatchObject({
    type: 'failed',
    error: { codexErrorInfo: info, message: expect.stringContaining(message) },
  });
  expect(requests).toBe(retried === 'not retried' ? 1 : 2);
  if (retried === 'not retried') expect(errors).toHaveLength(1);
  else
    expect(errors[0]).toMatchObject({
      type: 'retrying',
      error: {
        message: 'Reconnecting... 1/1',
        codexErrorInfo: { responseStreamDisconnected: { httpStatusCode: retried } },
        additionalDetails: last?.error.message,
      },
    });
});

test('the cut message is completed, the repeated one is new, and the model is shown only that', async () => {
  const { events, errors } = await fail([cut, stream([...responses.message('msg_1', ['ok']), responses.completed()])]);
  expect(errors.map((event) => event.type)).toEqual(['retrying']);
  const completed = events.flatMap((event) => (event.type === 'messageCompleted' ? [event] : []));
  expect(completed.map((event) => event.text)).toEqual(['half a sen', 'ok']);
  expect(completed[0]?.itemId).not.toBe(completed[1]?.itemId);
  expect(contextIn(events)).toMatchObject([{ type: 'assistant', text: 'ok' }]);
});

test('a whole message of an answer that broke off stays, its calls are not made', async () => {
  const broken = [...responses.message('msg_1', ['first']), responses.call('call_1', 'exec_command', { cmd: 'x' })];
  const { events } = await fail([stream(broken, 'cut'), stream(responses.say('second'))]);
  expect(contextIn(events)).toMatchObject([
    { type: 'assistant', text: 'first' },
    { type: 'assistant', text: 'second' },
  ]);
});

test('waits double from 200 ms, unless the provider says how long', async () => {
  const retries = { request: 0, stream: 4 };
  const hinted = failed('rate_limit_exceeded', 'Please try again in 0.3s.');
  const { waits, errors } = await fail(
    [cut, cut, hinted, status(429, fault('x'), { 'retry-after': '7' }), stream(responses.say('ok'))],
    retries,
  );
  expect(waits).toEqual([200, 400, 300, 7000]);
  expect(errors.map((event) => event.error.message)).toEqual([
    'Reconnecting... 1/4',
    'Reconnecting... 2/4',
    'Reconnecting... 3/4',
    'Reconnecting... 4/4',
  ]);
});

test('a wait beyond all patience fails the turn at once', async () => {
  const { errors, waits } = await fail([status(429, fault('x'), { 'retry-after': '7200' })]);
  expect(errors.map((event) => event.type)).toEqual(['failed']);
  expect(waits).toEqual([]);
});

test('requests of which nothing came back are repeated in silence first', async () => {
  const { errors, requests } = await fail(
    [status(503, {}), status(408, {}), status(500, {}), status(502, {}), stream(responses.say('ok'))],
    { request: 2, stream: 1 },
  );
  expect(errors.map((event) => event.error.message)).toEqual(['Reconnecting... 1/1']);
  expect(requests).toBe(5);
});

test('nobody listening is tried a bounded number of times', async () => {
  const server = await startModelServer();
  await server.close();
  const http = createModelHttp();
  https.push(http);
  const client = responsesClient(accessTo(server), http);
  const retries = { request: 1, stream: 2 };
  const backend = createTurnRuntime({
    route: () => ({ client, retries, conceal: (text) => text }),
    models: async () => [],
    clock: hurriedClock(),
  });
  const { events } = await outcome(backend.run(turnOf([userSays('go')]), house(), new AbortController().signal));
  expect(events.map((event) => event.type)).toEqual(['retrying', 'retrying', 'failed']);
  expect(events.at(-1)).toMatchObject({
    error: {
      codexErrorInfo: { httpConnectionFailed: { httpStatusCode: null } },
      message: expect.stringContaining('Connection failed'),
    },
  });
});
