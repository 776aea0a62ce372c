// An answer to an approval that is not clearly a yes is a no: nothing runs, and everyone is told.

import { afterEach, expect, test } from 'vitest';
import { askedTurn } from '../harness/approvals.ts';
import { cleanUp, startApp } from '../harness/start-app.ts';
import type { Question } from '../harness/test-client.ts';
import { completed, itemCompleted } from '../harness/turns.ts';

afterEach(cleanUp);

const answers: [string, (question: Question) => void][] = [
  ['an empty object', (question) => question.answer({})],
  ['a word of an older protocol', (question) => question.answer({ decision: 'approved' })],
  ['capital letters', (question) => question.answer({ decision: 'ACCEPT' })],
  ['true', (question) => question.answer({ decision: true })],
  ['a list', (question) => question.answer({ decision: ['accept'] })],
  ['null', (question) => question.answer(null)],
  ['a bare word', (question) => question.answer('accept')],
  ['an error', (question) => question.refuse({ code: -32601, message: 'unknown method' })],
  ['a decision meant for us alone', (question) => question.answer({ decision: 'acceptForTurn' })],
  [
    'a rule that was not proposed',
    (question) =>
      question.answer({ decision: { acceptWithExecpolicyAmendment: { execpolicy_amendment: ['rm', '-rf'] } } }),
  ],
  [
    'a rule with a member that nobody knows',
    ({ params, answer }) =>
      answer({
        decision: {
          acceptWithExecpolicyAmendment: { execpolicy_amendment: params.proposedExecpolicyAmendment, always: true },
        },
      }),
  ],
];

test.each(answers)('%s is a refusal', async (_, give) => {
  const server = await startApp();
  const client = await server.connect();
  const turn = await askedTurn(server, client);
  give(turn.question);
  await client.notified('serverRequest/resolved', ({ requestId }) => requestId === turn.question.id);
  const item = await itemCompleted(client, ({ type }) => type === 'commandExecution');
  expect(item).toMatchObject({ status: 'declined', exitCode: null });
  expect((await client.notified('warning')).message).toMatch(/approval was refused/);
  expect((await completed(client, turn.turnId)).status).toBe('completed');
  expect(await turn.runs()).toBe(0);
});

test('an answer with both a result and an error is a refusal', async () => {
  const server = await startApp();
  const client = await server.connect();
  const turn = await askedTurn(server, client);
  client.send({ id: turn.question.id, result: { decision: 'accept' }, error: { code: 1, message: 'm' } });
  await completed(client, turn.turnId);
  expect(await turn.runs()).toBe(0);
});

test('without a sandbox a lasting yes is not offered, and is a refusal', async () => {
  const sandbox = async () => ({ isAvailable: false, reason: 'none here', advice: 'install one' }) as const;
  const server = await startApp({ sandbox });
  const client = await server.connect();
  const turn = await askedTurn(server, client, {}, 'run');
  expect(turn.question.params).toMatchObject({ availableDecisions: ['accept', 'decline', 'cancel'] });
  expect(turn.question.params.heddle.sandbox).toBe('unavailable');
  turn.question.answer({ decision: 'acceptForSession' });
  const item = await itemCompleted(client, ({ type }) => type === 'commandExecution');
  expect(item.status).toBe('declined');
  expect((await client.notified('warning')).message).toContain('was not offered');
  await completed(client, turn.turnId);
  expect(await turn.runs()).toBe(0);
});

test('an unclear answer of one client leaves the question to the others, and is a refusal once nobody else is there', async () => {
  const server = await startApp();
  const [person, dashboard, left] = [await server.connect(), await server.connect(), await server.connect()];
  for (const last of ['accept', 'sure']) {
    const turn = await askedTurn(server, person);
    for (const client of [dashboard, left]) await client.request('thread/resume', { threadId: turn.threadId });
    const shown = await dashboard.asked((params) => params.threadId === turn.threadId);
    await left.asked((params) => params.threadId === turn.threadId);
    shown.refuse({ code: -32601, message: 'method not found' });
    if (last === 'sure') {
      left.wire.end();
      await left.wire.closed;
    }
    // Behind the refusal on the same connection.
    await dashboard.request('thread/loaded/list', {});
    turn.question.answer({ decision: last });
    await completed(person, turn.turnId);
    expect(await turn.runs()).toBe(last === 'accept' ? 1 : 0);
  }
  expect((await person.notified('warning')).message).toMatch(/approval was refused/);
});
