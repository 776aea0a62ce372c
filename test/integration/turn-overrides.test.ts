// What a turn asks for beside its input: adopted for it and for later ones, reported, and refused where it does not hold.

import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { callingModel } from '../harness/calling-model.ts';
import { responses, stream } from '../harness/model-server.ts';
import { cleanUp } from '../harness/start-app.ts';
import { completed, itemsOf, runTurn } from '../harness/turns.ts';

afterEach(cleanUp);

test('model, effort, folder, approvals and sandbox are adopted, told before the turn begins, and hold over a restart', async () => {
  const { begin, client, server, threadId, model } = await callingModel({ sandbox: 'read-only' });
  const folder = join(await realpath(server.workspace), 'below');
  await mkdir(folder);
  const wishes = {
    ...{ model: 'other', effort: 'high', summary: 'detailed', cwd: folder },
    ...{ approvalPolicy: 'never', sandboxPolicy: { type: 'dangerFullAccess' } },
  };
  const turnId = await begin([['exec_command', { cmd: 'pwd; touch made' }]], wishes);
  await completed(client, turnId);
  const methods = client.notifications().map(({ method }) => method);
  expect(methods.indexOf('thread/settings/updated')).toBeLessThan(methods.indexOf('turn/started'));
  expect(client.news('thread/settings/updated')).toMatchObject([{ threadSettings: wishes }]);
  const [command] = (await itemsOf(client, threadId)).filter(({ type }) => type === 'commandExecution');
  expect(command).toMatchObject({ status: 'completed', aggregatedOutput: `${folder}\n`, cwd: folder });
  expect(model.requests[0]!.body).toMatchObject({ model: 'other', reasoning: { effort: 'high', summary: 'detailed' } });
  await server.restart();
  const later = await server.connect();
  expect(await later.request('thread/resume', { threadId })).toMatchObject({
    ...{ model: 'other', reasoningEffort: 'high', cwd: folder, approvalPolicy: 'never' },
    sandbox: { type: 'dangerFullAccess' },
  });
  await model.close();
});

test('an empty model, and an outputSchema that is none, are refused', async () => {
  const { client, threadId, model } = await callingModel();
  const start = { threadId, input: [{ type: 'text', text: 'hello' }] };
  for (const [method, params] of [
    ['turn/start', { ...start, model: '' }],
    ['thread/start', { model: '' }],
    ...['text', 7, true, []].map((outputSchema) => ['turn/start', { ...start, outputSchema }] as const),
  ] as const)
    expect(await client.refusal(method, params)).toMatchObject({ code: -32602 });
  expect(model.requests).toEqual([]);
  await model.close();
});

test('what changes nothing is not told; what cannot be is refused, and no turn begins', async () => {
  const { client, threadId, model } = await callingModel();
  model.script(stream(responses.say('hello')));
  await runTurn(client, threadId, 'hello', { approvalPolicy: 'on-request' });
  expect(client.news('thread/settings/updated')).toEqual([]);
  const both = { permissions: ':workspace', sandboxPolicy: { type: 'readOnly' } };
  for (const wrong of [
    both,
    { permissions: ':nope' },
    { approvalPolicy: 'sometimes' },
    { approvalsReviewer: 'auto_review' },
  ])
    expect((await client.refusal('turn/start', { threadId, input: [], ...wrong })).code).toBe(-32602);
  expect(client.news('turn/started')).toHaveLength(1);
  await model.close();
});
