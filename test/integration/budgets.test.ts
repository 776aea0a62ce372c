// Budgets of tokens and wall time, of a turn and of a goal: work stops cleanly, and what it had done stays.

import { afterEach, expect, test } from 'vitest';
import { callingModel } from '../harness/calling-model.ts';
import { responses, stream } from '../harness/model-server.ts';
import { cleanUp } from '../harness/start-app.ts';
import { completed, itemsOf, runTurn } from '../harness/turns.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

/** The scripted answers cost 110 tokens each: 100 in, of which 20 were cached, and 30 out. */
const COST = 110;
const FREE = { sandbox: 'danger-full-access', approvalPolicy: 'never' };
const SPENT = { status: 'failed', error: { codexErrorInfo: 'sessionBudgetExceeded' } };

test('a turn that has used its tokens makes no further call, and the next one begins anew', async () => {
  const { run, client, threadId, model } = await callingModel(FREE, { config: { budgets: { turn_tokens: 2 * COST } } });
  const { turn } = await run([
    ['exec_command', { cmd: 'echo one' }],
    ['exec_command', { cmd: 'echo two' }],
  ]);
  expect(turn).toMatchObject(SPENT);
  expect(turn.error.message).toContain(`${2 * COST} tokens`);
  expect(model.requests).toHaveLength(2);
  const commands = (await itemsOf(client, threadId)).filter(({ type }) => type === 'commandExecution');
  expect(commands).toMatchObject([{ status: 'completed', aggregatedOutput: 'one\n' }]);
  expect((await runTurn(client, threadId, 'again')).status).toBe('completed');
  await model.close();
});

test('an answer that needs no more work is whole, even if it used the last tokens', async () => {
  const { client, threadId, model } = await callingModel(FREE, { config: { budgets: { turn_tokens: 1 } } });
  model.script(stream(responses.say('done')));
  expect((await runTurn(client, threadId, 'speak')).status).toBe('completed');
  await model.close();
});

test('a turn that has used its time is stopped with its processes, and keeps their output', async () => {
  const clock = new ManualClock();
  const options = { clock, config: { budgets: { turn_seconds: 600 } } };
  const { begin, client, threadId, model } = await callingModel(FREE, options);
  const turnId = await begin([['exec_command', { cmd: 'echo begun; exec sleep 900' }]]);
  await client.notified('item/commandExecution/outputDelta');
  clock.advance(600_000);
  const turn = await completed(client, turnId);
  expect(turn).toMatchObject(SPENT);
  const [command] = (await itemsOf(client, threadId)).filter(({ type }) => type === 'commandExecution');
  expect(command).toMatchObject({ status: 'failed', aggregatedOutput: expect.stringContaining('begun') });
  await model.close();
});

test('time counts while people are asked', async () => {
  const clock = new ManualClock();
  const { begin, client, model } = await callingModel({}, { clock, config: { budgets: { turn_seconds: 600 } } });
  const call = { cmd: 'true', sandbox_permissions: 'require_escalated', justification: 'may I?' };
  const turnId = await begin([['exec_command', call]]);
  await client.asked();
  clock.advance(600_000);
  expect(await completed(client, turnId)).toMatchObject(SPENT);
  expect(client.news('serverRequest/resolved')).toHaveLength(1);
  await model.close();
});

test('a goal counts what its turns cost, stops the one that uses it up, and is limited from then on', async () => {
  const { run, client, threadId, model } = await callingModel(FREE);
  await client.request('thread/goal/set', { threadId, objective: 'get it done', tokenBudget: 3 * COST });
  await run([['exec_command', { cmd: 'echo one' }]]);
  const { goal } = await client.request('thread/goal/get', { threadId });
  expect(goal).toMatchObject({ status: 'active', tokensUsed: 2 * COST });
  const { turn } = await run([
    ['exec_command', { cmd: 'echo two' }],
    ['exec_command', { cmd: 'echo three' }],
  ]);
  expect(turn).toMatchObject(SPENT);
  expect(client.news('thread/goal/updated').at(-1)).toMatchObject({
    turnId: turn.id,
    goal: { status: 'budgetLimited', tokensUsed: 3 * COST },
  });
  // What people ask for beyond the goal is theirs to ask; the answer is what was left of the script.
  expect((await runTurn(client, threadId, 'one more')).status).toBe('completed');
  await model.close();
});

test('goals without a budget of their own have the configured one', async () => {
  const { run, client, threadId, model } = await callingModel(FREE, { config: { budgets: { goal_tokens: COST } } });
  await client.request('thread/goal/set', { threadId, objective: 'get it done' });
  const { turn } = await run([['exec_command', { cmd: 'echo one' }]]);
  expect(turn).toMatchObject(SPENT);
  expect((await client.request('thread/goal/get', { threadId })).goal.status).toBe('budgetLimited');
  await model.close();
});

test('the time of a goal runs out in the middle of a turn, and is counted with it', async () => {
  const clock = new ManualClock();
  const options = { clock, config: { budgets: { goal_seconds: 600 } } };
  const { begin, client, threadId, model } = await callingModel(FREE, options);
  await client.request('thread/goal/set', { threadId, objective: 'get it done' });
  const turnId = await begin([['exec_command', { cmd: 'echo begun; exec sleep 900' }]]);
  await client.notified('item/commandExecution/outputDelta');
  clock.advance(600_000);
  expect(await completed(client, turnId)).toMatchObject(SPENT);
  const { goal } = await client.request('thread/goal/get', { threadId });
  expect(goal).toMatchObject({ status: 'budgetLimited', timeUsedSeconds: 600, tokensUsed: COST });
  await model.close();
});

test('a goal that is paused costs nothing and stops nothing', async () => {
  const { run, client, threadId, model } = await callingModel(FREE);
  await client.request('thread/goal/set', { threadId, objective: 'get it done', tokenBudget: 1, status: 'paused' });
  expect((await run([['exec_command', { cmd: 'echo one' }]])).turn.status).toBe('completed');
  expect((await client.request('thread/goal/get', { threadId })).goal).toMatchObject({
    status: 'paused',
    tokensUsed: 0,
  });
  await model.close();
});
