// Several questions at once, and questions that outlive restarts: each comes once to each client, and each answer counts once.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { askedTurn } from '../harness/approvals.ts';
import { cleanUp, type RunningApp, startApp } from '../harness/start-app.ts';
import type { TestClient } from '../harness/test-client.ts';
import { completed, itemsOf, runTurn, startThread, startTurn } from '../harness/turns.ts';
import { eventually } from '../unit/children/waiting.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

/** A turn that asks about two commands side by side; each writes its letter into the file when it runs. */
async function twoQuestions(server: RunningApp, client: TestClient) {
  const threadId = await startThread(client);
  const file = join(server.workspace, 'letters');
  const turnId = await startTurn(client, threadId, `run! printf a >> ${file}\nrun! printf b >> ${file}`);
  const about = (letter: string) => (each: TestClient) =>
    each.asked(({ command }) => command.includes(`printf ${letter}`));
  const letters = async () => (await readFile(file, 'utf8').catch(() => '')).split('').toSorted().join('');
  return { threadId, turnId, a: about('a'), b: about('b'), letters };
}

describe('two questions at once', () => {
  test.each(['accept', 'decline'] as const)('are answered one by one, the second with %s', async (second) => {
    const server = await startApp();
    const client = await server.connect();
    const turn = await twoQuestions(server, client);
    const [a, b] = [await turn.a(client), await turn.b(client)];
    expect(a.id).not.toBe(b.id);
    b.answer({ decision: second });
    await client.notified('serverRequest/resolved', ({ requestId }) => requestId === b.id);
    const { thread } = await client.request('thread/read', { threadId: turn.threadId });
    expect(thread.status.activeFlags).toEqual(['waitingOnApproval']);
    a.answer({ decision: 'accept' });
    expect((await completed(client, turn.turnId)).status).toBe('completed');
    expect(await turn.letters()).toBe(second === 'accept' ? 'ab' : 'a');
  });

  test('both stand after a restart, and each runs once', async () => {
    const server = await startApp();
    const client = await server.connect();
    const turn = await twoQuestions(server, client);
    await Promise.all([turn.a(client), turn.b(client)]);
    await server.restart();
    const later = await server.connect();
    await later.request('thread/resume', { threadId: turn.threadId });
    for (const question of [await turn.b(later), await turn.a(later)]) question.answer({ decision: 'accept' });
    expect((await completed(later, turn.turnId)).status).toBe('completed');
    expect(await turn.letters()).toBe('ab');
    expect(later.questions()).toHaveLength(2);
  });

  test('of which one has been answered: only the other stands after a restart, and nothing runs twice', async () => {
    const server = await startApp();
    const client = await server.connect();
    const turn = await twoQuestions(server, client);
    const [a] = [await turn.a(client), await turn.b(client)];
    a.answer({ decision: 'accept' });
    await client.notified('item/completed', ({ item }) => item.type === 'commandExecution');
    await client.settled();
    await server.restart();
    const later = await server.connect();
    await later.request('thread/resume', { threadId: turn.threadId });
    (await turn.b(later)).answer({ decision: 'accept' });
    expect((await completed(later, turn.turnId)).status).toBe('completed');
    expect(await turn.letters()).toBe('ab');
    expect(later.questions()).toHaveLength(1);
  });

  test('are both ended by an interrupt', async () => {
    const server = await startApp();
    const client = await server.connect();
    const turn = await twoQuestions(server, client);
    const ids = [(await turn.a(client)).id, (await turn.b(client)).id];
    await client.request('turn/interrupt', { threadId: turn.threadId, turnId: turn.turnId });
    await completed(client, turn.turnId);
    const ended = client.news('serverRequest/resolved').map(({ requestId }) => requestId);
    expect(ended.toSorted()).toEqual(ids.toSorted());
    expect(await turn.letters()).toBe('');
    const items = await itemsOf(client, turn.threadId);
    expect(items.map(({ status }) => status)).toEqual([undefined, 'declined', 'declined']);
  });
});

describe('a question beside a command that runs', () => {
  async function besides(server: RunningApp) {
    const client = await server.connect();
    const threadId = await startThread(client, { sandbox: 'workspace-write', cwd: server.workspace });
    const file = join(server.workspace, 'letters');
    const lines = `run printf r >> ${file}; echo begun; sleep 600\nrun! printf q >> ${file}`;
    const turnId = await startTurn(client, threadId, lines);
    const begun = client.notified('item/commandExecution/outputDelta', ({ delta }) => delta.includes('begun'));
    await Promise.all([begun, client.asked()]);
    return { threadId, turnId, letters: () => readFile(file, 'utf8') };
  }

  test.each([
    ['a polite stop', (server: RunningApp) => server.restart().then(() => server)],
    ['a kill', (server: RunningApp) => server.afterKill()],
  ])('ends with its turn at %s: neither runs again', async (_, stop) => {
    const server = await startApp();
    const turn = await besides(server);
    const later = await (await stop(server)).connect();
    await later.request('thread/resume', { threadId: turn.threadId });
    const { data } = await later.request('thread/turns/list', { threadId: turn.threadId });
    expect(data[0]).toMatchObject({ id: turn.turnId, status: 'interrupted' });
    expect(later.questions()).toEqual([]);
    expect(await turn.letters()).toBe('r');
  });
});

test('a client that resumes at once after a restart is asked, however slow the model is to be reached', async () => {
  const server = await startApp();
  const turn = await askedTurn(server, await server.connect());
  await server.restart();
  const client = await server.connect();
  const resume = client.post('thread/resume', { threadId: turn.threadId });
  const { thread } = await client.answerTo(resume);
  expect(thread.status.activeFlags).toEqual(['waitingOnApproval']);
  await client.settled();
  expect(client.questions()).toHaveLength(1);
});

test('ids of questions are not used again by the next process: a late answer does nothing', async () => {
  const server = await startApp();
  const turn = await askedTurn(server, await server.connect());
  await server.restart();
  const client = await server.connect();
  await client.request('thread/resume', { threadId: turn.threadId });
  const question = await client.asked();
  expect(question.id).not.toBe(turn.question.id);
  client.send({ id: turn.question.id, result: { decision: 'accept' } });
  await client.settled();
  expect((await client.request('thread/read', { threadId: turn.threadId })).thread.status.activeFlags).toEqual([
    'waitingOnApproval',
  ]);
  expect(await turn.runs()).toBe(0);
});

/** The time of a question that is shown anew runs a moment later. */
const overtaken = (clock: ManualClock, client: TestClient): Promise<true> =>
  eventually('the end of the turn', () => {
    clock.advance(1);
    return client.news('turn/completed').length > 0;
  });

test('a question stands through two restarts, and its time goes on', async () => {
  const clock = new ManualClock();
  const server = await startApp({ clock, config: { approval_timeout_seconds: 100 } });
  const turn = await askedTurn(server, await server.connect());
  for (let restart = 0; restart < 2; restart += 1) {
    clock.advance(40_000);
    await server.restart();
    const client = await server.connect();
    await client.request('thread/resume', { threadId: turn.threadId });
    expect((await client.asked()).params).toEqual(turn.question.params);
  }
  const client = await server.connect();
  await client.request('thread/resume', { threadId: turn.threadId });
  clock.advance(20_000);
  await overtaken(clock, client);
  expect((await completed(client, turn.turnId)).status).toBe('completed');
  expect(await turn.runs()).toBe(0);
});

test('a question whose time was over while the server was down is a refusal', async () => {
  const clock = new ManualClock();
  const server = await startApp({ clock, config: { approval_timeout_seconds: 100 } });
  const turn = await askedTurn(server, await server.connect());
  await server.close();
  clock.advance(100_000);
  const again = await startApp({ clock, dataDirectory: server.dataDirectory });
  const client = await again.connect();
  await client.request('thread/resume', { threadId: turn.threadId });
  await client.asked();
  await overtaken(clock, client);
  await completed(client, turn.turnId);
  const items = await itemsOf(client, turn.threadId);
  expect(items[1]).toMatchObject({ type: 'commandExecution', status: 'declined' });
  expect(await turn.runs()).toBe(0);
});

test('a client that resumes behind an old event is asked once', async () => {
  const server = await startApp();
  const turn = await askedTurn(server, await server.connect());
  const { headSeq } = await (await server.connect()).request('thread/read', { threadId: turn.threadId });
  for (let after = 0; after <= headSeq; after += 1) {
    const client = await server.connect();
    await client.request('thread/resume', { threadId: turn.threadId, afterEventSeq: after });
    await client.asked();
    await client.settled();
    expect(client.questions()).toHaveLength(1);
  }
});

test('a client that has left a thread is told nothing more of it', async () => {
  const server = await startApp();
  const [client, other] = [await server.connect(), await server.connect()];
  const turn = await askedTurn(server, client);
  await other.request('thread/resume', { threadId: turn.threadId });
  const question = await other.asked();
  await other.request('thread/unsubscribe', { threadId: turn.threadId });
  turn.question.answer({ decision: 'decline' });
  await completed(client, turn.turnId);
  question.answer({ decision: 'accept' });
  await other.settled();
  expect(other.news('turn/completed')).toEqual([]);
  expect(await turn.runs()).toBe(0);
  await runTurn(client, turn.threadId, 'say x');
  expect(other.news('turn/started')).toEqual([]);
});

test.each([
  ['thread/archive', {}],
  ['thread/delete', {}],
  ['thread/rollback', { numTurns: 1 }],
])('%s ends a standing question, and nothing runs', async (method, params) => {
  const server = await startApp();
  const client = await server.connect();
  const turn = await askedTurn(server, client);
  await client.request(method, { threadId: turn.threadId, ...params });
  await client.notified('serverRequest/resolved', ({ requestId }) => requestId === turn.question.id);
  turn.question.answer({ decision: 'accept' });
  await client.settled();
  expect(await turn.runs()).toBe(0);
});
