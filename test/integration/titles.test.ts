// A title for a thread, as the terminal client of the reference asks for one; and the schema that its answer is to fit.

import { afterEach, expect, test } from 'vitest';
import { responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, runTurn, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

const SCHEMA = {
  type: 'object',
  properties: { title: { type: 'string', minLength: 1, maxLength: 36 } },
  required: ['title'],
  additionalProperties: false,
};

/** What the client sends, with the members that it leaves empty. */
const threadParams = (cwd: string) => ({
  ...{ model: 'scripted-model', modelProvider: 'scripted', cwd, runtimeWorkspaceRoots: [], approvalPolicy: 'never' },
  ...{ approvalsReviewer: null, sandbox: null, permissions: ':read-only', serviceName: null, baseInstructions: null },
  config: {
    ...{ 'features.hooks': false, 'features.unified_exec': false, 'features.shell_tool': false },
    ...{ 'tools.update_plan.enabled': false, web_search: 'disabled', mcp_servers: {} },
  },
  ...{ developerInstructions: null, personality: null, multiAgentMode: null, ephemeral: true, historyMode: null },
  ...{ threadSource: 'thread_title', projectId: null, environments: [], dynamicTools: [], selectedCapabilityRoots: [] },
});
const turnParams = {
  ...{ turnTrigger: null, parentTurnId: null, rootTurnId: null, toolOutput: null, additionalContext: null },
  ...{ environments: null, cwd: null, runtimeWorkspaceRoots: [], approvalPolicy: null, approvalsReviewer: null },
  ...{ sandboxPolicy: null, permissions: ':read-only', model: null, effort: null, summary: null, personality: null },
  ...{ outputSchema: SCHEMA, collaborationMode: null, multiAgentMode: null },
};

test('a thread of its own answers with a title, is gone when nobody needs it, and the name is kept', async () => {
  const model = await startModelServer(stream(responses.say('hello')), stream(responses.say('{"title":"Greeting"}')));
  const server = await startApp({ backend: model, config: { idle_unload_seconds: 1 } });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace });
  await runTurn(client, threadId, 'hello there');
  const { thread } = await client.request('thread/start', threadParams(server.workspace));
  expect(thread).toMatchObject({ ephemeral: true, threadSource: 'thread_title', environments: [] });
  const turn = await completed(client, await startTurn(client, thread.id, 'A title for this, please', turnParams));
  expect(JSON.parse(turn.items[0].text)).toEqual({ title: 'Greeting' });
  const { body } = model.requests[1]!;
  expect(body.text).toMatchObject({ format: { type: 'json_schema', schema: SCHEMA } });
  const offered = (body.tools as { name: string }[]).map(({ name }) => name);
  expect(offered).not.toContain('exec_command');
  expect(offered).not.toContain('apply_patch');
  expect(await client.request('thread/unsubscribe', { threadId: thread.id })).toEqual({ status: 'unsubscribed' });
  await client.request('thread/name/set', { threadId, name: 'Greeting' });
  const { data } = await client.request('thread/list', {});
  expect(data).toMatchObject([{ id: threadId, name: 'Greeting' }]);
  await client.notified('thread/closed', (params) => params.threadId === thread.id);
  await model.close();
});

test('a schema counts for its turn only', async () => {
  const model = await startModelServer(stream(responses.say('{"title":"x"}')), stream(responses.say('words')));
  const server = await startApp({ backend: model });
  const client = await server.connect();
  const threadId = await startThread(client);
  await runTurn(client, threadId, 'one', { outputSchema: SCHEMA });
  await runTurn(client, threadId, 'two');
  expect(model.requests.map(({ body }) => 'text' in body)).toEqual([true, false]);
  await model.close();
});

test('a provider that cannot keep to a schema says so, and is not asked', async () => {
  const model = await startModelServer(stream(responses.say('words')));
  const scripted = { base_url: model.baseUrl, wire_api: 'responses', output_schemas: false };
  const server = await startApp({ backend: model, config: { model_providers: { scripted } } });
  const client = await server.connect();
  const threadId = await startThread(client);
  const turn = await runTurn(client, threadId, 'one', { outputSchema: SCHEMA });
  expect(turn).toMatchObject({ status: 'failed', error: { codexErrorInfo: 'badRequest' } });
  expect(turn.error.message).toMatch(/scripted cannot hold its answers to a schema/);
  expect((await runTurn(client, threadId, 'two')).status).toBe('completed');
  expect(model.requests).toHaveLength(1);
  await model.close();
});
