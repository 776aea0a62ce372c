// Newer and older clients: what is unknown is ignored, what is missing has a default, what cannot be is refused by name.

import { afterEach, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { completed, startThread, text } from '../harness/turns.ts';

afterEach(cleanUp);

const FROM_THE_FUTURE = { heddleTestMember: { nested: [1, null] } };

test('unknown members are ignored in every request of a session', async () => {
  const server = await startApp();
  const client = await server.dial();
  const request = (method: string, params: object) => client.request(method, { ...params, ...FROM_THE_FUTURE });
  await request('initialize', {
    clientInfo: { name: 'new', version: '9', ...FROM_THE_FUTURE },
    capabilities: { ...FROM_THE_FUTURE },
  });
  client.notify('initialized', FROM_THE_FUTURE);
  const { thread } = await request('thread/start', {});
  const threadId = thread.id;
  const { turn } = await request('turn/start', { threadId, input: [{ ...text('say hello')[0], ...FROM_THE_FUTURE }] });
  await completed(client, turn.id);
  await request('thread/resume', { threadId });
  await request('thread/read', { threadId, includeTurns: true });
  await request('thread/turns/list', { threadId });
  await request('thread/items/list', { threadId });
  await request('thread/list', {});
  await request('thread/loaded/list', {});
  await request('thread/name/set', { threadId, name: 'named' });
  await request('model/list', {});
  await request('config/read', {});
  await request('thread/unsubscribe', { threadId });
  await request('thread/archive', { threadId });
  await request('thread/unarchive', { threadId });
  await request('thread/delete', { threadId });
  expect(client.transcript.filter((each) => each.error)).toEqual([]);
});

test.each(['thread/start', 'thread/list', 'thread/loaded/list', 'model/list', 'config/read', 'account/read'])(
  '%s needs no params where all are optional, nor any that are null',
  async (method) => {
    const server = await startApp();
    const client = await server.connect();
    await client.request(method);
    await client.request(method, null);
    await client.request(method, {});
  },
);

test('null means not given', async () => {
  const server = await startApp();
  const client = await server.connect({ experimentalApi: true });
  const nothing = Object.fromEntries(
    [
      'model',
      'modelProvider',
      'cwd',
      'approvalPolicy',
      'sandbox',
      'config',
      'ephemeral',
      'dynamicTools',
      'permissions',
    ].map((name) => [name, null]),
  );
  const started = await client.request('thread/start', nothing);
  expect(started).toMatchObject({ model: 'mock', cwd: server.workspace, approvalPolicy: 'on-request' });
});

const misread: [string, (client: TestClient, threadId: string) => Promise<Error & { code: number }>, string[]][] = [
  [
    'an approval policy of a thread',
    (client) => client.refusal('thread/start', { approvalPolicy: 'sometimes' }),
    ['untrusted', 'on-request', 'never'],
  ],
  [
    'an approval policy of a turn',
    (client, threadId) => client.refusal('turn/start', { threadId, input: [], approvalPolicy: 'sometimes' }),
    ['untrusted', 'on-request', 'never'],
  ],
  [
    'a sandbox mode',
    (client) => client.refusal('thread/start', { sandbox: 'open' }),
    ['read-only', 'workspace-write', 'danger-full-access'],
  ],
  [
    'a kind of sandbox policy',
    (client, threadId) => client.refusal('turn/start', { threadId, input: [], sandboxPolicy: { type: 'open' } }),
    ['dangerFullAccess', 'readOnly', 'workspaceWrite'],
  ],
  ['a direction', (client) => client.refusal('thread/list', { sortDirection: 'up' }), ['asc', 'desc']],
  [
    'a view of items',
    (client, threadId) => client.refusal('thread/turns/list', { threadId, itemsView: 'some' }),
    ['notLoaded', 'summary', 'full'],
  ],
  [
    'a kind of input',
    (client, threadId) => client.refusal('turn/start', { threadId, input: [{ type: 'smell' }] }),
    ['text', 'image', 'localImage'],
  ],
];

test.each(misread)('%s that nobody knows is refused with those that count', async (_, ask, allowed) => {
  const server = await startApp();
  const client = await server.connect();
  const error = await ask(client, await startThread(client));
  expect(error.code).toBe(-32602);
  for (const value of allowed) expect(error.message).toContain(value);
});
