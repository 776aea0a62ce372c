// Resources of MCP servers, as a model finds and reads them.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, itemsOf, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const demo = { command: process.execPath, args: [join(ROOT, 'conformance/kit/mcp-server.mjs')] };
const HOSTILE = join(ROOT, 'test/harness/hostile-mcp-server.mjs');
const plain = { command: process.execPath, args: [HOSTILE, 'good'] };

async function started(settings: object = {}) {
  const server = await startApp({ config: { mcp_servers: { demo, plain, gone: { command: '/nonexistent' } } } });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace, approvalPolicy: 'never', ...settings });
  for (const name of ['demo', 'plain'])
    await client.notified(
      'mcpServer/startupStatus/updated',
      (params) => params.name === name && params.status === 'ready',
    );
  const asked = async (...calls: string[]) => {
    const text = calls.map((call) => `call ${call}`).join('\n\n');
    expect(await completed(client, await startTurn(client, threadId, text))).toMatchObject({ status: 'completed' });
    return (await itemsOf(client, threadId)).filter(({ type }) => type === 'mcpToolCall');
  };
  return { server, client, threadId, asked };
}

const said = (item: unknown) =>
  JSON.parse(
    (item as { readonly result: { readonly content: readonly { readonly text: string }[] } }).result.content[0]!.text,
  );

describe('resources are', () => {
  test('listed for one server and for all, each with its server', async () => {
    const { asked } = await started();
    const [one, all, none] = await asked(
      'list_mcp_resources {"server":"demo"}',
      'list_mcp_resources {}',
      'list_mcp_resources {"server":"plain"}',
    );
    const hello = { server: 'demo', uri: 'demo://hello', name: 'hello', title: 'Hello' };
    expect(one).toMatchObject({ server: 'demo', tool: 'list_mcp_resources', status: 'completed', readOnlyHint: null });
    expect(said(one)).toMatchObject({ server: 'demo', resources: [hello] });
    expect(all).toMatchObject({ server: 'codex', arguments: {} });
    expect(said(all)).toMatchObject({ resources: [hello] });
    expect(said(none)).toEqual({ server: 'plain', resources: [] });
  });

  test('listed by their patterns, and read', async () => {
    const { asked } = await started();
    const [patterns, read] = await asked(
      'list_mcp_resource_templates {"server":"demo"}',
      'read_mcp_resource {"server":"demo","uri":"demo://item/7"}',
    );
    expect(said(patterns)).toMatchObject({ resourceTemplates: [{ server: 'demo', uriTemplate: 'demo://item/{id}' }] });
    expect(said(read)).toEqual({
      ...{ server: 'demo', uri: 'demo://item/7' },
      contents: [{ uri: 'demo://item/7', text: 'item 7' }],
    });
  });

  test('not there: an error of the call; of a server that there is not, or without a URI, no call at all', async () => {
    const { asked } = await started();
    const items = await asked(
      'read_mcp_resource {"server":"demo","uri":"demo://missing"}',
      'list_mcp_resources {"cursor":"x"}',
      'read_mcp_resource {"server":"gone","uri":"demo://hello"}',
      'read_mcp_resource {"server":"nope","uri":"demo://hello"}',
      'read_mcp_resource {"server":"demo"}',
    );
    expect(items.map(({ status, error }) => [status, error.message])).toEqual([
      ['failed', expect.stringMatching(/^resources\/read failed: .*demo:\/\/missing/)],
      ['failed', 'cursor can only be used when a server is specified'],
      ['failed', expect.stringContaining('failed to get client')],
    ]);
  });

  test('asked about first where the configuration says so for the server', async () => {
    const careful = { ...demo, default_tools_approval_mode: 'prompt' };
    const server = await startApp({ config: { mcp_servers: { demo: careful } } });
    const client = await server.connect({ experimentalApi: true });
    const threadId = await startThread(client, { cwd: server.workspace, approvalPolicy: 'on-request' });
    const turnId = await startTurn(client, threadId, 'call read_mcp_resource {"server":"demo","uri":"demo://hello"}');
    const question = await client.asked();
    expect(question.params._meta).toMatchObject({
      tool_name: 'read_mcp_resource',
      tool_params: { uri: 'demo://hello' },
    });
    question.answer({ action: 'accept', content: {} });
    await completed(client, turnId);
    const [item] = (await itemsOf(client, threadId)).filter(({ type }) => type === 'mcpToolCall');
    expect(said(item)).toMatchObject({ contents: [{ text: 'hello resource' }] });
  });

  const LIST_ALL = 'call list_mcp_resources {}';
  const careful = { default_tools_approval_mode: 'prompt' };

  async function asking(mcp_servers: object, text: string) {
    const server = await startApp({ config: { mcp_servers } });
    const client = await server.connect({ experimentalApi: true });
    const threadId = await startThread(client, { cwd: server.workspace, approvalPolicy: 'on-request' });
    for (const name of Object.keys(mcp_servers))
      await client.notified(
        'mcpServer/startupStatus/updated',
        (params) => params.name === name && params.status === 'ready',
      );
    const settings = () => readFile(join(server.dataDirectory, 'config.yaml'), 'utf8');
    const before = await settings();
    const turnId = await startTurn(client, threadId, text);
    const stays = async () => expect(await settings()).toBe(before);
    return { client, threadId, turnId, stays };
  }

  test('asked of all servers, of which one is to be asked about: asked, for the session at most, and no setting is written', async () => {
    const servers = { demo: { ...demo, ...careful }, plain };
    const { client, threadId, turnId, stays } = await asking(servers, `${LIST_ALL}\n\n${LIST_ALL}`);
    const question = await client.asked();
    expect(question.params).toMatchObject({
      serverName: 'codex',
      _meta: { tool_name: 'list_mcp_resources', persist: ['session'] },
    });
    question.answer({ action: 'accept', content: {}, _meta: { persist: 'always' } });
    expect((await client.notified('warning')).message).toMatch(/does not count: .*not offered/);
    await completed(client, turnId);
    const calls = (await itemsOf(client, threadId)).filter(({ type }) => type === 'mcpToolCall');
    expect(calls.map(({ status }) => status)).toEqual(['completed', 'completed']);
    await stays();
  });

  test('a server that has the name of all of them together is another one', async () => {
    const tools = { list_mcp_resources: { approval_mode: 'auto' } };
    const servers = { codex: { ...plain, ...careful, tools }, demo: { ...demo, ...careful } };
    const { client, threadId, turnId, stays } = await asking(servers, LIST_ALL);
    (await client.asked()).answer({ action: 'accept', content: {}, _meta: { persist: 'session' } });
    await completed(client, turnId);
    await stays();
    const own = await asking({ codex: { ...plain, ...careful } }, 'call list_mcp_resources {"server":"codex"}');
    const question = await own.client.asked();
    expect(question.params._meta).toMatchObject({ persist: ['session', 'always'] });
    question.answer({ action: 'decline', content: null });
    await completed(own.client, own.turnId);
    expect(threadId).not.toBe(own.threadId);
  });
});
