// A model asks people something while it plans: the question stands until somebody answers it, and what is unclear is no answer.

import { afterEach, describe, expect, test } from 'vitest';
import { type CallingModel, callingModel } from '../harness/calling-model.ts';
import type { StartOptions } from '../harness/start-app.ts';
import { cleanUp } from '../harness/start-app.ts';
import { completed, itemsOf } from '../harness/turns.ts';
import { ManualClock } from '../unit/transports/manual-clock.ts';

afterEach(cleanUp);

const QUESTIONS = [
  {
    id: 'color',
    header: 'Color',
    question: 'Which color?',
    options: [
      { label: 'Red (Recommended)', description: 'warm' },
      { label: 'Blue', description: 'cool' },
    ],
  },
  { id: 'size', header: 'Size', question: 'Which size?', options: [{ label: 'S', description: 'small' }] },
];
const ASK = ['request_user_input', { questions: QUESTIONS }] as const;
const PLAN = { collaborationMode: { mode: 'plan', settings: { model: 'scripted-model' } } };

const planning = (options: StartOptions = {}) => callingModel({ approvalPolicy: 'never' }, options);
const told = (rig: CallingModel) => JSON.parse(rig.outputs()[0] ?? 'null');

test('outside of plan mode nobody is asked', async () => {
  const rig = await planning();
  const { outputs } = await rig.run([ASK]);
  expect(outputs).toEqual(['request_user_input is unavailable in Default mode']);
  expect(rig.client.questions()).toEqual([]);
});

test('the question is shown whole, the thread waits for input, and the model is told the answers', async () => {
  const rig = await planning();
  const { turnId, question } = await rig.ask(ASK, PLAN);
  expect(question.method).toBe('item/tool/requestUserInput');
  expect(question.params).toMatchObject({
    ...{ threadId: rig.threadId, turnId, itemId: 'call_1', isBlocking: true, autoResolutionMs: null },
    questions: QUESTIONS.map((each) => ({ ...each, isOther: true, isSecret: false })),
  });
  const { thread } = await rig.client.request('thread/read', { threadId: rig.threadId });
  expect(thread.status.activeFlags).toEqual(['waitingOnUserInput']);
  const answers = { color: { answers: ['Blue'] }, size: { answers: ['S', 'user_note: small'] } };
  question.answer({ answers });
  expect((await completed(rig.client, turnId)).status).toBe('completed');
  expect(told(rig)).toEqual({ answers });
  const flags = rig.client.news('thread/status/changed').map(({ status }) => status.activeFlags);
  expect(flags).toEqual([[], ['waitingOnUserInput'], [], undefined]);
  expect(rig.client.news('serverRequest/resolved')).toEqual([{ threadId: rig.threadId, requestId: question.id }]);
  expect((await itemsOf(rig.client, rig.threadId)).map(({ type }) => type)).toEqual(['userMessage', 'agentMessage']);
});

describe('no answer is', () => {
  test.each<[string, object]>([
    ['an error', { error: { code: -32000, message: 'dismissed' } }],
    ['null', { result: null }],
    ['a text', { result: { answers: { color: 'Blue' } } }],
    ['a decision', { result: { decision: 'accept' } }],
    ['a list', { result: { answers: [['Blue']] } }],
  ])('%s', async (_, answer) => {
    const rig = await planning();
    const { turnId, question } = await rig.ask(ASK, PLAN);
    rig.client.send({ id: question.id, ...answer });
    expect((await completed(rig.client, turnId)).status).toBe('completed');
    expect(told(rig)).toMatchObject({ answers: {}, unansweredBecause: expect.any(String) });
    expect(rig.client.news('warning').map(({ message }) => message)).toEqual([
      expect.stringContaining('An answer does not count'),
    ]);
  });

  test('an empty one, and that is no fault', async () => {
    const rig = await planning();
    const { turnId, question } = await rig.ask(ASK, PLAN);
    question.answer({ answers: {} });
    await completed(rig.client, turnId);
    expect(told(rig)).toEqual({ answers: {} });
    expect(rig.client.news('warning')).toEqual([]);
  });

  test('one to what was not asked', async () => {
    const rig = await planning();
    const { turnId, question } = await rig.ask(ASK, PLAN);
    question.answer({ answers: { size: { answers: ['S'] }, root: { answers: ['yes'] } } });
    await completed(rig.client, turnId);
    expect(told(rig)).toEqual({ answers: { size: { answers: ['S'] } } });
    expect(rig.client.news('warning')[0]?.message).toMatch(/root/);
  });

  test('the end of its time', async () => {
    const clock = new ManualClock();
    const rig = await planning({ clock, config: { approval_timeout_seconds: 100 } });
    const { turnId } = await rig.ask(ASK, PLAN);
    clock.advance(100_000);
    expect((await completed(rig.client, turnId)).status).toBe('completed');
    expect(told(rig)).toMatchObject({ answers: {}, unansweredBecause: expect.stringContaining('expired') });
  });

  test('nobody being there, where the server is set to decline then', async () => {
    const rig = await planning({ config: { unattended: 'decline' } });
    await rig.client.request('thread/unsubscribe', { threadId: rig.threadId });
    const turnId = await rig.begin([ASK], PLAN);
    await rig.model.received(2);
    expect(told(rig)).toMatchObject({ answers: {}, unansweredBecause: expect.stringContaining('nobody') });
    expect(turnId).not.toBe('');
  });
});

test('an interrupt ends the question with the turn', async () => {
  const rig = await planning();
  const { turnId, question } = await rig.ask(ASK, PLAN);
  const reply = await rig.client.request('turn/interrupt', { threadId: rig.threadId, turnId });
  expect(reply).toMatchObject({ physicallySettled: true });
  expect((await completed(rig.client, turnId)).status).toBe('interrupted');
  expect(rig.client.news('serverRequest/resolved')).toEqual([{ threadId: rig.threadId, requestId: question.id }]);
  question.answer({ answers: { size: { answers: ['S'] } } });
  await rig.client.settled();
  expect(rig.model.requests).toHaveLength(1);
});

test('it stands over a restart, is shown to who comes later, and its answer goes on with the turn', async () => {
  const rig = await planning();
  const { turnId, question } = await rig.ask(ASK, PLAN);
  await rig.server.restart();
  const later = await rig.server.connect();
  const { thread } = await later.request('thread/resume', { threadId: rig.threadId });
  expect(thread.status.activeFlags).toEqual(['waitingOnUserInput']);
  const again = await later.asked();
  expect(again.params).toEqual(question.params);
  again.answer({ answers: { size: { answers: ['S'] } } });
  expect((await completed(later, turnId)).status).toBe('completed');
  expect(told(rig)).toEqual({ answers: { size: { answers: ['S'] } } });
});

test.each<[string, unknown]>([
  ['no questions', { questions: [] }],
  ['a question without words', { questions: [{ id: 'a', header: '', question: '' }] }],
  ['two of one name', { questions: [QUESTIONS[0], QUESTIONS[0]] }],
  ['no JSON', '{'],
])('arguments with %s go back to the model', async (_, args) => {
  const rig = await planning();
  const { outputs } = await rig.run([['request_user_input', args]], PLAN);
  expect(outputs).toEqual([expect.stringContaining('The arguments of request_user_input')]);
  expect(rig.client.questions()).toEqual([]);
});
