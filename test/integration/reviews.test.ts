// A review: a turn in which the model looks at changes, changes nothing, and whose words stay in the thread.

import { afterEach, describe, expect, test } from 'vitest';
import { deferred } from '../../src/base/signals.ts';
import { responses, type Step, startModelServer, status, stream } from '../harness/model-server.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { Received, TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, runTurn, startThread, startTurn, text } from '../harness/turns.ts';

afterEach(cleanUp);

const FINDING = {
  title: 'Off by one',
  body: 'The last row is lost.',
  priority: 1,
  code_location: { absolute_file_path: '/w/a.ts', line_range: { start: 3, end: 5 } },
};
const ANSWER = JSON.stringify({ findings: [FINDING], overall_explanation: 'Almost right.' });
const say = (words: string): Step => stream(responses.say(words));

async function ready(...script: Step[]) {
  const model = await startModelServer(...script);
  const server = await startApp({ backend: model });
  const client = await server.connect({ experimentalApi: true });
  return { model, server, client, threadId: await startThread(client, { cwd: server.workspace }) };
}

const start = (client: TestClient, threadId: string, target: object): Promise<Received> =>
  client.request('review/start', { threadId, target, delivery: 'inline' });

async function run(client: TestClient, threadId: string, target: object): Promise<Received> {
  const { turn } = await start(client, threadId, target);
  return completed(client, turn.id);
}

test('is shown from its beginning to its end, and the next turn knows of it', async () => {
  const { model, client, threadId } = await ready(say('hello'), say(ANSWER), say('next'));
  await runTurn(client, threadId, 'words of before');
  const { turn, reviewThreadId } = await start(client, threadId, { type: 'custom', instructions: ' look at a.ts ' });
  expect(reviewThreadId).toBe(threadId);
  expect(turn.items).toMatchObject([{ type: 'userMessage', id: turn.id, content: [{ text: 'look at a.ts' }] }]);
  const ended = await completed(client, turn.id);
  expect(ended).toMatchObject({ status: 'completed', items: [{ type: 'agentMessage' }] });
  const review = 'Almost right.\n\n- [P1] Off by one (/w/a.ts:3-5)\n  The last row is lost.';
  const items = (await itemsOf(client, threadId)).slice(2);
  expect(items).toMatchObject([
    { type: 'enteredReviewMode', review: 'look at a.ts' },
    { type: 'userMessage' },
    { type: 'exitedReviewMode', review },
    { type: 'agentMessage', text: review },
  ]);
  expect(JSON.stringify(model.requests[1]!.body)).not.toContain('words of before');
  await runTurn(client, threadId, 'go on');
  expect(JSON.stringify(model.requests[2]!.body.input)).toContain('The last row is lost.');
  await model.close();
});

test.each([
  [{ type: 'uncommittedChanges' }, 'current changes'],
  [{ type: 'baseBranch', branch: 'main' }, "changes against 'main'"],
  [{ type: 'commit', sha: '0123456789abcdef', title: 'Tidy up' }, 'commit 0123456: Tidy up'],
  [{ type: 'commit', sha: '0123456789abcdef' }, 'commit 0123456'],
])('of %j', async (target, hint) => {
  const { model, client, threadId } = await ready(say('All is well.'));
  expect((await run(client, threadId, target)).status).toBe('completed');
  const [entered, , exited] = await itemsOf(client, threadId);
  expect(entered).toMatchObject({ type: 'enteredReviewMode', review: hint });
  expect(exited).toMatchObject({ type: 'exitedReviewMode', review: 'All is well.' });
  await model.close();
});

test('it reads and changes nothing, whatever the thread may do', async () => {
  const patch = '*** Begin Patch\n*** Add File: new.txt\n+x\n*** End Patch';
  const { model, server, client } = await ready(
    stream([responses.created(), responses.call('call_1', 'apply_patch', { input: patch }), responses.completed()]),
    say('{"findings": [], "overall_explanation": "fine"}'),
  );
  const free = { cwd: server.workspace, sandbox: 'danger-full-access', approvalPolicy: 'never' };
  const threadId = await startThread(client, free);
  expect((await run(client, threadId, { type: 'uncommittedChanges' })).status).toBe('completed');
  const { readdir } = await import('node:fs/promises');
  expect(await readdir(server.workspace)).toEqual([]);
  expect(client.questions()).toEqual([]);
  await model.close();
});

test('what was granted to the thread is not granted to it, and it calls no client and asks nobody while people plan', async () => {
  const server = await startApp();
  const client = await server.connect({ experimentalApi: true });
  const lookup = { type: 'function', name: 'lookup', description: 'Looks up', inputSchema: {} };
  const threadId = await startThread(client, { cwd: server.workspace, dynamicTools: [lookup] });
  const collaborationMode = { mode: 'plan', settings: { model: 'mock' } };
  const first = await startTurn(client, threadId, 'run! echo x', { collaborationMode });
  (await client.asked()).answer({ decision: 'acceptForSession' });
  await completed(client, first);
  const instructions = 'run! echo x\n\ncall lookup {}\n\npropose Mend it';
  const { turn } = await start(client, threadId, { type: 'custom', instructions });
  expect(await completed(client, turn.id)).toMatchObject({ status: 'completed' });
  const shown = client.news('item/started').filter(({ turnId }) => turnId === turn.id);
  expect(shown.map(({ item }) => item.type)).toEqual([
    ...['enteredReviewMode', 'userMessage', 'exitedReviewMode', 'agentMessage'],
  ]);
  expect(client.questions()).toHaveLength(1);
});

describe('one that does not come to its end leaves review mode', () => {
  const lastItem = async (client: TestClient, threadId: string) => (await itemsOf(client, threadId)).at(-1);
  const stopped = { type: 'exitedReviewMode', review: expect.stringContaining('stopped') };

  test('when the model fails', async () => {
    const { model, client, threadId } = await ready(status(400, { error: { message: 'no' } }));
    expect((await run(client, threadId, { type: 'uncommittedChanges' })).status).toBe('failed');
    expect(await lastItem(client, threadId)).toMatchObject(stopped);
    await model.close();
  });

  test('when it is interrupted; and it takes no input meanwhile', async () => {
    const reached = deferred();
    const { model, client, threadId } = await ready(() => reached.resolve());
    const { turn } = await start(client, threadId, { type: 'uncommittedChanges' });
    await reached.promise;
    const steer = { threadId, expectedTurnId: turn.id, input: text('more') };
    expect((await client.refusal('turn/steer', steer)).data.codexErrorInfo).toEqual({
      activeTurnNotSteerable: { turnKind: 'review' },
    });
    await client.request('turn/interrupt', { threadId, turnId: turn.id });
    expect((await completed(client, turn.id)).status).toBe('interrupted');
    expect(await lastItem(client, threadId)).toMatchObject(stopped);
    await model.close();
  });

  test('when the server is killed', async () => {
    const reached = deferred();
    const { model, server, client, threadId } = await ready(() => reached.resolve());
    await start(client, threadId, { type: 'uncommittedChanges' });
    await reached.promise;
    const after = await server.afterKill();
    const later = await after.connect();
    const { data } = await later.request('thread/turns/list', { threadId });
    expect(data).toMatchObject([{ status: 'interrupted' }]);
    expect(await lastItem(later, threadId)).toMatchObject(stopped);
    await model.close();
  });
});

test.each([
  [{ type: 'custom', instructions: ' ' }, 'instructions must not be empty'],
  [{ type: 'baseBranch', branch: '' }, 'branch must not be empty'],
])('%j is refused', async (target, message) => {
  const { model, client, threadId } = await ready();
  const refusal = await client.refusal('review/start', { threadId, target });
  expect(refusal.message).toContain(message);
  expect((await client.refusal('review/start', { threadId, target, delivery: 'detached' })).code).toBe(-32602);
  await model.close();
});
