// Experimental methods and members: refused by name without the capability, taken with it.

import { afterEach, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { runTurn, startThread, text } from '../harness/turns.ts';

afterEach(cleanUp);

test.each<[string, object]>([
  ['thread/readState/update', { threadId: 'x', operation: { type: 'read' }, expectedRevision: 'r' }],
  ['thread/settings/update', { threadId: 'x' }],
  ['thread/backgroundTerminals/list', { threadId: 'x' }],
])('%s needs the capability', async (method, params) => {
  const server = await startApp();
  const [plain, capable] = [await server.connect(), await server.connect({ experimentalApi: true })];
  const refused = await plain.refusal(method, params);
  expect(refused).toMatchObject({ code: -32600, message: `${method}: ${method} requires experimentalApi capability` });
  expect((await capable.refusal(method, params)).code).toBe(-32004);
});

test.each<[string, object, string]>([
  ['thread/start', { dynamicTools: [] }, 'thread/start.dynamicTools'],
  ['thread/start', { environments: [] }, 'thread/start.environments'],
  ['thread/start', { permissions: ':read-only' }, 'thread/start.permissions'],
  ['thread/start', { historyMode: 'paginated' }, 'thread/start.historyMode'],
  ['thread/start', { runtimeWorkspaceRoots: [] }, 'thread/start.runtimeWorkspaceRoots'],
  ['thread/start', { approvalPolicy: { granular: {} } }, 'askForApproval.granular'],
  ['turn/start', { threadId: 'x', input: [], collaborationMode: {} }, 'turn/start.collaborationMode'],
  ['turn/start', { threadId: 'x', input: [], permissions: ':workspace' }, 'turn/start.permissions'],
  ['thread/resume', { threadId: 'x', initialTurnsPage: {} }, 'thread/resume.initialTurnsPage'],
  ['thread/list', { projectId: 'x' }, 'thread/list.projectId'],
])('%s with %j needs the capability', async (method, params, name) => {
  const server = await startApp();
  const [plain, capable] = [await server.connect(), await server.connect({ experimentalApi: true })];
  const refused = await plain.refusal(method, params);
  expect(refused).toMatchObject({ code: -32600, data: { kind: 'experimental_required' } });
  expect(refused.message).toContain(`${name} requires experimentalApi capability`);
  const outcome = await capable.request(method, params).catch((error: Error) => error);
  if (outcome instanceof Error) expect(outcome.message).not.toContain('experimentalApi');
});

test('null members need no capability', async () => {
  const server = await startApp();
  const client = await server.connect();
  await client.request('thread/start', { dynamicTools: null, environments: null, permissions: null });
});

test('experimental news come only to those with the capability', async () => {
  const server = await startApp();
  const [plain, capable] = [await server.connect(), await server.connect({ experimentalApi: true })];
  const threadId = await startThread(plain);
  await capable.request('thread/resume', { threadId });
  const turn = await runTurn(plain, threadId, 'say one');
  await capable.notified('turn/completed', (each) => each.turn.id === turn.id);
  expect(capable.news('thread/readState/changed')).toHaveLength(1);
  expect(plain.news('thread/readState/changed')).toEqual([]);
});

test('settings change between turns and for the next one', async () => {
  const server = await startApp();
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client);
  await client.request('thread/settings/update', { threadId, approvalPolicy: 'untrusted' });
  const { threadSettings } = await client.notified('thread/settings/updated');
  expect(threadSettings.approvalPolicy).toBe('untrusted');
  await client.request('turn/start', { threadId, input: text('run echo x') });
  (await client.asked()).answer({ decision: 'decline' });
  await client.notified('turn/completed');
});
