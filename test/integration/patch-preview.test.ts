// Patches as the model writes them, in all three wire forms: shown where that is switched on, made only when they are whole.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { chat, responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

const PATCH = '*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** Add File: b.txt\n+three\n*** End Patch';
const JSON_PATCH = JSON.stringify({ input: PATCH });
const halves = (text: string) => [text.slice(0, 60), text.slice(60)];

const written = (kind: 'custom_tool_call' | 'function_call', text: string, delta: string) => [
  responses.event('response.output_item.added', {
    output_index: 1,
    item: { type: kind, call_id: 'call_1', name: 'apply_patch' },
  }),
  ...halves(text).map((piece) => responses.event(delta, { output_index: 1, delta: piece })),
  responses.event('response.output_item.done', {
    output_index: 1,
    item: {
      ...{ type: kind, call_id: 'call_1', name: 'apply_patch' },
      ...(kind === 'function_call' ? { arguments: text } : { input: text }),
    },
  }),
  responses.completed(),
];
const chatCall = (members: object) =>
  chat.chunk({
    tool_calls: [
      { index: 0, function: { ...members }, ...('name' in members ? { id: 'call_1', type: 'function' } : {}) },
    ],
  });

const FORMS = {
  'plain text': ['responses', written('custom_tool_call', PATCH, 'response.custom_tool_call_input.delta')],
  arguments: ['responses', written('function_call', JSON_PATCH, 'response.function_call_arguments.delta')],
  chat: [
    'chat',
    [
      chatCall({ name: 'apply_patch', arguments: '' }),
      ...halves(JSON_PATCH).map((piece) => chatCall({ arguments: piece })),
      chat.chunk({}, 'tool_calls'),
      'data: [DONE]\n\n',
    ],
  ],
} as const;

async function run(form: keyof typeof FORMS, features: object) {
  const [wire, frames] = FORMS[form];
  const model = await startModelServer();
  const scripted = { base_url: model.baseUrl, wire_api: wire, custom_tools: form === 'plain text' };
  const server = await startApp({ backend: model, config: { model_providers: { scripted }, features } });
  const client = await server.connect();
  const settings = { cwd: server.workspace, sandbox: 'workspace-write', approvalPolicy: 'on-request' };
  const threadId = await startThread(client, settings);
  const end =
    wire === 'chat'
      ? [chat.chunk({ content: 'done' }), chat.chunk({}, 'stop'), 'data: [DONE]\n\n']
      : responses.say('done');
  model.script(stream([...frames]), stream([...end]));
  const turn = await completed(client, await startTurn(client, threadId, 'go on'));
  expect(turn.status).toBe('completed');
  expect(await readFile(join(server.workspace, 'b.txt'), 'utf8')).toBe('three\n');
  return { client, server, threadId };
}

describe.each(Object.keys(FORMS) as (keyof typeof FORMS)[])('written as %s', (form) => {
  test('it is shown while it comes, and before the item', async () => {
    const { client } = await run(form, { apply_patch_streaming_events: true });
    const shown = client.news('item/fileChange/patchUpdated');
    expect(shown.length).toBeGreaterThan(0);
    expect(shown.at(-1)).toMatchObject({
      changes: [
        { path: 'a.txt', kind: { type: 'add' }, diff: 'one\ntwo\n' },
        { path: 'b.txt', kind: { type: 'add' } },
      ],
    });
    const methods = client.notifications().map(({ method, params }) => `${method} ${params.item?.type ?? ''}`);
    expect(methods.findLastIndex((each) => each.startsWith('item/fileChange/patchUpdated'))).toBeLessThan(
      methods.indexOf('item/started fileChange'),
    );
    expect(shown[0]?.itemId).toBe(client.news('item/started').find(({ item }) => item.type === 'fileChange')?.item.id);
  });

  test('it is not, unless that is switched on', async () => {
    const { client } = await run(form, {});
    expect(client.news('item/fileChange/patchUpdated')).toEqual([]);
  });
});

test('who comes back after a restart is told of it again, in its place', async () => {
  const { client, server, threadId } = await run('plain text', { apply_patch_streaming_events: true });
  const before = client.notifications('item/fileChange/patchUpdated');
  await server.restart();
  const again = await server.connect({ experimentalApi: true });
  const { events } = await again.request('thread/read', { threadId, afterEventSeq: 0, limit: 200 });
  const replayed = events.filter(({ method }: { method: string }) => method === 'item/fileChange/patchUpdated');
  expect(replayed.map(({ seq, params }: never) => [seq, params])).toEqual(
    before.map(({ seq, params }) => [seq, params]),
  );
});
