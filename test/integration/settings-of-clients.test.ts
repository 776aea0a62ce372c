// Clients of one server with settings of their own command lines: each gets its own, nobody those of another.

import { afterEach, expect, test } from 'vitest';
import { localPrincipal } from '../../src/auth/principal.ts';
import { responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { runTurn, startThread } from '../harness/turns.ts';

afterEach(cleanUp);

const said = (words: string) =>
  stream([responses.created(), ...responses.message('m', [words]), responses.completed()]);

const WIDE = ['sandbox_mode="danger-full-access"', 'approval_policy="never"', 'model="wide"'];
const NARROW = ['sandbox_mode="read-only"', 'approval_policy="untrusted"'];

test('count for the threads of its connection, over the file and below what a request names', async () => {
  const server = await startApp({ config: { model: 'of-the-file', approval_policy: 'on-request' } });
  const wide = await server.connect({ settings: WIDE });
  const narrow = await server.connect({ settings: NARROW });
  const plain = await server.connect();
  const first = await wide.request('thread/start', {});
  expect(first).toMatchObject({ approvalPolicy: 'never', sandbox: { type: 'dangerFullAccess' }, model: 'wide' });
  expect(await narrow.request('thread/start', {})).toMatchObject({
    approvalPolicy: 'untrusted',
    sandbox: { type: 'readOnly' },
    model: 'of-the-file',
  });
  expect(await plain.request('thread/start', {})).toMatchObject({ approvalPolicy: 'on-request', model: 'of-the-file' });
  const asked = { config: { model: 'asked' }, approvalPolicy: 'on-request' };
  expect(await wide.request('thread/start', asked)).toMatchObject({ approvalPolicy: 'on-request', model: 'asked' });
  const { config, origins } = await narrow.request('config/read', {});
  expect(config).toMatchObject({ approval_policy: 'untrusted', model: 'of-the-file' });
  expect(origins.approval_policy.name).toEqual({ type: 'sessionFlags' });
  const write = { keyPath: 'approval_policy', value: 'on-request', mergeStrategy: 'replace' };
  expect((await narrow.request('config/value/write', write)).status).toBe('okOverridden');
  expect((await plain.request('config/value/write', write)).status).toBe('ok');
});

test('what happens on a busy thread, and who may be asked, is each client’s own', async () => {
  const server = await startApp();
  const steering = await server.connect({ settings: ['busy_turn_start=steer', 'other_reviewers=people'] });
  const plain = await server.connect();
  const { thread } = await steering.request('thread/start', { approvalsReviewer: 'guardian_subagent' });
  const turn = { threadId: thread.id, input: [{ type: 'text', text: 'hang' }] };
  const running = await steering.request('turn/start', turn);
  const more = { threadId: thread.id, input: [{ type: 'text', text: 'more' }] };
  expect((await steering.request('turn/start', more)).turn.id).toBe(running.turn.id);
  await expect(plain.request('turn/start', more)).rejects.toMatchObject({ code: -32009 });
  await expect(plain.request('thread/start', { approvalsReviewer: 'guardian_subagent' })).rejects.toMatchObject({
    code: -32602,
  });
});

test('a provider of one client is asked by the turns of its threads, and by nobody else', async () => {
  const common = await startModelServer(said('common'));
  const own = await startModelServer(said('own'));
  const server = await startApp({ backend: common });
  const settings = [`model_providers.scripted.base_url="${own.baseUrl}"`];
  const [one, other] = [await server.connect({ settings }), await server.connect()];
  for (const [client, wanted] of [
    [one, 'own'],
    [other, 'common'],
  ] as const) {
    await runTurn(client, await startThread(client, {}), 'hello');
    const { item } = await client.notified('item/completed', ({ item }) => item.type === 'agentMessage');
    expect(item.text).toBe(wanted);
  }
});

test.each([
  ['who is remote', { ...localPrincipal, isLocal: false }],
  ['who may not write settings', { ...localPrincipal, permissions: new Set(['thread:write'] as const) }],
])('are refused to %s', async (_who, principal) => {
  const server = await startApp();
  await expect(server.connectAs(principal, { settings: NARROW })).rejects.toMatchObject({
    code: -32600,
    data: { permission: 'admin' },
  });
});

test.each([
  ['of the whole server', 'remote.sandbox="danger-full-access"', /heddle\.settings: remote\.sandbox/],
  ['of another kind', 'sandbox_mode=7', /sandbox_mode/],
  ['in no form', 'sandbox_mode', /key=value/],
])('what is %s is refused', async (_what, setting, message) => {
  const server = await startApp();
  await expect(server.connect({ settings: [setting] })).rejects.toThrow(message);
});
