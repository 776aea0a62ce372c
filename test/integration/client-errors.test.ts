// Whatever fails in the client library has one shape, wherever it failed: code, kind, message, data.

import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { RequestError } from '../../src/client/errors.ts';
import { type ConnectOptions, connect } from '../../src/client/local.ts';
import { connect as connectWeb } from '../../src/client/web.ts';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';

afterEach(cleanUp);

const ME = { name: 'errors', version: '1' };

async function client(settings: Partial<ConnectOptions> = {}) {
  const { address } = await startApp({ transport: 'unix' });
  return connect({ ...ME, url: address, ...settings } as ConnectOptions);
}

const failed = (work: () => unknown): Promise<unknown> =>
  Promise.resolve()
    .then(work)
    .then(
      () => 'it did not fail',
      (error: unknown) => error,
    );

const anyRequest = (method: string, params: object = {}) => [method, params] as never as ['thread/read', never];

test('of connecting: a wrong address, no server, a token in plain text, no WebSocket', async () => {
  const nowhere = join(await temporaryFolder(), 'none.sock');
  const found = [
    await failed(() => connect({ ...ME, url: 'http://127.0.0.1:1' })),
    await failed(() => connect({ ...ME, socket: 'relative' })),
    await failed(() => connect({ ...ME, socket: nowhere })),
    await failed(() => connect({ ...ME, spawn: { command: nowhere } })),
    await failed(() => connectWeb({ ...ME, url: 'ws://192.0.2.1:1', token: 't' })),
  ];
  for (const error of found) expect(error).toBeInstanceOf(RequestError);
  expect(found).toMatchObject([
    { code: -32602, kind: 'invalid', data: { kind: 'invalid_params', retryable: false } },
    { code: -32602, kind: 'invalid', data: { kind: 'invalid_params', retryable: false } },
    { code: -32603, kind: 'unavailable', data: { kind: 'unavailable', retryable: true } },
    { code: -32603, kind: 'unavailable', data: { kind: 'unavailable', retryable: true } },
    { code: -32602, kind: 'invalid', data: { kind: 'invalid_params', retryable: false } },
  ]);
});

test('of requests: a method that there is not, here and there, what the server refuses, an abort, a closed client', async () => {
  const heddle = await client();
  const here = await failed(() => heddle.request(...anyRequest('no/such')));
  const handshake = await failed(() => heddle.request(...anyRequest('initialize')));
  const refused = await failed(() => heddle.request('thread/read', { threadId: 'none' }));
  const aborted = await failed(() => heddle.request('thread/list', {}, { signal: AbortSignal.abort() }));
  const late = await failed(async () => {
    await heddle.close();
    await heddle.request('thread/list', {});
  });
  const found = [here, handshake, refused, aborted, late];
  for (const error of found) {
    expect(error).toBeInstanceOf(RequestError);
    expect((error as RequestError).data).toMatchObject({ kind: expect.any(String), retryable: expect.any(Boolean) });
  }
  expect(found).toMatchObject([
    { code: -32601, kind: 'unknownMethod', message: 'unknown method: no/such', data: { kind: 'method_not_found' } },
    { code: -32601, kind: 'unknownMethod' },
    { code: expect.any(Number), data: { kind: 'not_found' } },
    { code: -32603, kind: 'cancelled' },
    { code: -32603, kind: 'unavailable' },
  ]);
});

test('of streams and turns: what ends them says so in the same shape', async () => {
  const leaving = await client();
  const turn = (await leaving.thread({})).turn('hang');
  await turn.started;
  await leaving.close();
  const left = await failed(() => turn.completed);
  const heddle = await client({ reconnect: false });
  const states: unknown[] = [];
  heddle.on('state', ({ error }) => error && states.push(error));
  const reading = failed(async () => {
    for await (const _ of heddle.notifications('turn/completed'));
  });
  await cleanUp();
  const found = [left, await reading, ...states];
  expect(found).toHaveLength(3);
  for (const error of found) {
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({ code: -32603, data: { kind: 'unavailable', retryable: true } });
  }
  await heddle.close();
});
