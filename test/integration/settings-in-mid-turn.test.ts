// A turn runs under what was set when it began: a change meanwhile counts from the next one.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { deferred } from '../../src/base/signals.ts';
import { responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import { completed, startThread, startTurn } from '../harness/turns.ts';

afterEach(cleanUp);

const calls = (callId: string, cmd: string) =>
  stream([responses.created(), responses.call(callId, 'exec_command', { cmd }), responses.completed()]);

test('widening the sandbox in mid-turn widens only the next turn', async () => {
  const server = await startApp();
  const [first, second] = [join(server.workspace, 'first'), join(server.workspace, 'second')];
  const goOn = deferred();
  const model = await startModelServer(
    async (response, request) => {
      await goOn.promise;
      await calls('call_1', `touch ${first}`)(response, request);
    },
    stream(responses.say('done')),
    calls('call_2', `touch ${second}`),
    stream(responses.say('done')),
  );
  const app = await startApp({ backend: model });
  const client = await app.connect({ experimentalApi: true });
  const params = { cwd: server.workspace, sandbox: 'read-only', approvalPolicy: 'never' };
  const threadId = await startThread(client, params);
  const turnId = await startTurn(client, threadId, 'work');
  await model.received(1);
  await client.request('thread/settings/update', { threadId, sandboxPolicy: { type: 'dangerFullAccess' } });
  await client.notified('thread/settings/updated');
  goOn.resolve();
  expect((await completed(client, turnId)).status).toBe('completed');
  expect(existsSync(first)).toBe(false);
  await completed(client, await startTurn(client, threadId, 'again'));
  expect(existsSync(second)).toBe(true);
  await model.close();
});

test('widening the sandbox in one breath with the start of a turn does not widen that turn', async () => {
  const { workspace } = await startApp();
  const outside = join(workspace, 'outside');
  const model = await startModelServer(calls('call_1', `touch ${outside}`), stream(responses.say('done')));
  const app = await startApp({ backend: model });
  const client = await app.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: workspace, sandbox: 'read-only', approvalPolicy: 'never' });
  const input = [{ type: 'text', text: 'work', text_elements: [] }];
  const starting = client.request('turn/start', { threadId, input });
  const widening = client.request('thread/settings/update', { threadId, sandboxPolicy: { type: 'dangerFullAccess' } });
  const [{ turn }] = await Promise.all([starting, widening]);
  expect((await completed(client, turn.id)).status).toBe('completed');
  expect(existsSync(outside)).toBe(false);
  await model.close();
});
