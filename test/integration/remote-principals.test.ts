// Clients of other machines: held to their permissions, their tenant and the operator's ceiling; wider is forbidden, never narrowed.

import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PERMISSIONS, type Permission, type Principal } from '../../src/auth/principal.ts';
import { cleanUp, type RunningApp, startApp, temporaryFolder } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { runTurn, startThread, text } from '../harness/turns.ts';

afterEach(cleanUp);

const principal = (permissions: readonly Permission[], more: Partial<Principal> = {}): Principal => ({
  tenant: 'local',
  subject: 'someone',
  permissions: new Set(permissions),
  isLocal: false,
  ...more,
});

const REMOTE = principal(['thread:read', 'thread:write', 'approval:resolve']);

describe('permissions', () => {
  test.each<[Permission, string, object]>([
    ['thread:write', 'thread/start', {}],
    ['thread:write', 'turn/start', { threadId: 'x', input: [] }],
    ['thread:write', 'turn/interrupt', { threadId: 'x', turnId: 'y' }],
    ['thread:write', 'thread/delete', { threadId: 'x' }],
    ['thread:read', 'thread/list', {}],
    ['thread:read', 'thread/resume', { threadId: 'x' }],
  ])('without %s there is no %s', async (missing, method, params) => {
    const server = await startApp();
    const client = await server.connectAs(principal(PERMISSIONS.filter((each) => each !== missing)));
    const error = await client.refusal(method, params);
    expect(error).toMatchObject({ code: -32600, data: { kind: 'forbidden', permission: missing } });
  });

  test('without the permission to answer, questions are not shown and answers do not count', async () => {
    const server = await startApp();
    const owner = await server.connect();
    const reader = await server.connectAs(principal(['thread:read', 'thread:write']));
    const threadId = await startThread(owner);
    await reader.request('thread/resume', { threadId });
    await owner.request('turn/start', { threadId, input: text('run! echo x') });
    const question = await owner.asked();
    await reader.notified('thread/status/changed', ({ status }) => status.activeFlags?.length === 1);
    reader.send({ id: question.id, result: { decision: 'accept' } });
    await reader.settled();
    expect(reader.questions()).toEqual([]);
    question.answer({ decision: 'decline' });
    await owner.notified('turn/completed');
  });

  test('without thread:read no news of threads come', async () => {
    const server = await startApp();
    const blind = await server.connectAs(principal(['config']));
    await startThread(await server.connect());
    await blind.refusal('thread/list', {});
    expect(blind.notifications()).toEqual([]);
  });
});

test('a thread of another tenant is not there, and no news of it come', async () => {
  const server = await startApp();
  const [mine, other] = [
    await server.connect(),
    await server.connectAs(principal(PERMISSIONS, { tenant: 'other', isLocal: true })),
  ];
  const threadId = await startThread(mine);
  await runTurn(mine, threadId, 'say secret');
  for (const [method, params] of [
    ['thread/read', {}],
    ['thread/resume', {}],
    ['thread/delete', {}],
    ['thread/turns/list', {}],
    ['turn/start', { input: text('say x') }],
    ['turn/interrupt', { turnId: '' }],
  ] as const) {
    expect((await other.refusal(method, { threadId, ...params })).code).toBe(-32004);
  }
  expect((await other.request('thread/list', {})).data).toEqual([]);
  expect((await other.request('thread/loaded/list', {})).data).toEqual([]);
  expect(other.notifications()).toEqual([]);
  const { thread } = await other.request('thread/start', { threadId });
  expect(thread.id).toBe(threadId);
  expect((await mine.request('thread/read', { threadId, includeTurns: true })).thread.turns).toHaveLength(1);
});

describe('the ceiling', () => {
  let folder: string;
  let server: RunningApp;
  let client: TestClient;

  beforeEach(async () => {
    folder = await temporaryFolder();
    for (const name of ['root', 'root/inner', 'root-evil', 'outside']) await mkdir(join(folder, name));
    await symlink(join(folder, 'outside'), join(folder, 'root', 'link'));
    await symlink(join(folder, 'root'), join(folder, 'way-in'));
    server = await startApp({ config: { remote: { roots: [join(folder, 'root')] } } });
    client = await server.connectAs(REMOTE, { experimentalApi: true });
  });

  const at = (path: string) => join(folder, path);

  test.each([['root'], ['root/inner'], ['root/inner/..'], ['way-in/inner'], ['root/not-made-yet']])(
    'a thread may work in %s',
    async (path) => {
      await startThread(client, { cwd: `${folder}/${path}` });
    },
  );

  test.each([
    ['outside'],
    ['root-evil'],
    ['root/../outside'],
    ['root/link'],
    ['root/link/deeper'],
    ['root/inner/../../root-evil'],
    ['.'],
  ])('a thread may not work in %s', async (path) => {
    const error = await client.refusal('thread/start', { cwd: `${folder}/${path}` });
    expect(error).toMatchObject({ code: -32600, data: { kind: 'forbidden' } });
    const threadId = await startThread(client, { cwd: at('root') });
    const later = await client.refusal('turn/start', { threadId, input: text('say x'), cwd: `${folder}/${path}` });
    expect(later.data.kind).toBe('forbidden');
  });

  test.each<[string, object]>([
    ['a wider sandbox', { sandbox: 'workspace-write' }],
    ['full access', { sandbox: 'danger-full-access' }],
    ['full access by a profile', { permissions: ':danger-full-access' }],
    ['never being asked', { approvalPolicy: 'never' }],
    ['a workspace root outside', { runtimeWorkspaceRoots: ['/'] }],
    ['an override of the sandbox', { config: { sandbox_mode: 'danger-full-access' } }],
    ['a dotted override', { config: { 'sandbox_workspace_write.network_access': true } }],
    ['a provider of its own', { config: { 'model_providers.evil.base_url': 'http://127.0.0.1:1' } }],
    ['its own ceiling', { config: { 'remote.sandbox': 'danger-full-access' } }],
  ])('%s is forbidden at the start, and nothing is begun', async (_, wish) => {
    const error = await client.refusal('thread/start', { cwd: at('root'), ...wish });
    expect(error).toMatchObject({ code: -32600, data: { kind: 'forbidden' } });
    expect((await client.request('thread/loaded/list', {})).data).toEqual([]);
  });

  test.each<[string, object]>([
    ['a wider sandbox', { sandboxPolicy: { type: 'workspaceWrite', writableRoots: [] } }],
    ['full access', { sandboxPolicy: { type: 'dangerFullAccess' } }],
    ['a sandbox of somebody else', { sandboxPolicy: { type: 'externalSandbox' } }],
    ['network', { sandboxPolicy: { type: 'readOnly', networkAccess: true } }],
    ['never being asked', { approvalPolicy: 'never' }],
    ['a file outside', { input: [{ type: 'localImage', path: '/etc/passwd' }] }],
  ])('%s is forbidden for a turn, and none is begun', async (_, wish) => {
    const threadId = await startThread(client, { cwd: at('root') });
    const error = await client.refusal('turn/start', { threadId, input: text('say x'), ...wish });
    expect(error).toMatchObject({ code: -32600, data: { kind: 'forbidden' } });
    expect((await client.request('thread/turns/list', { threadId })).data).toEqual([]);
  });

  test('the model and its effort are for a remote client to choose', async () => {
    const started = await client.request('thread/start', { cwd: at('root'), config: { model: 'other' } });
    expect(started).toMatchObject({ model: 'other', sandbox: { type: 'readOnly' }, approvalPolicy: 'on-request' });
    expect((await runTurn(client, started.thread.id, 'say x', { effort: 'low' })).status).toBe('completed');
  });

  test('a thread that a local client began wide is not for a remote client to run', async () => {
    const local = await server.connect();
    const threadId = await startThread(local, { cwd: at('outside'), sandbox: 'danger-full-access' });
    const error = await client.refusal('turn/start', { threadId, input: text('run echo x') });
    expect(error.data.kind).toBe('forbidden');
    const turn = await local.request('turn/start', { threadId, input: text('hang') });
    await local.notified('turn/started');
    const steer = { threadId, expectedTurnId: turn.turn.id, input: text('run echo x') };
    expect((await client.refusal('turn/steer', steer)).data.kind).toBe('forbidden');
  });
});
