// So many questions of one server at a time, and so many that nobody answers.

import { expect, test } from 'vitest';
import { DECLINED, type ElicitationAnswer, UNANSWERED } from '../../../src/mcp/elicitation.ts';
import { OpenCalls } from '../../../src/mcp/open-calls.ts';
import { OpenQuestions } from '../../../src/mcp/open-questions.ts';
import { ManualClock } from '../transports/manual-clock.ts';

const FORM = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
const YES: ElicitationAnswer = { action: 'accept', content: {} };

function bench(given: () => ElicitationAnswer) {
  const clock = new ManualClock();
  let asked = 0;
  const questions = new OpenQuestions(async () => {
    asked += 1;
    return given();
  }, clock);
  const ask = () => questions.ask(FORM, new OpenCalls().now, []);
  return { clock, ask, asked: () => asked };
}

test('who asks without end and gets no answer is heard again after an hour', async () => {
  let answer = UNANSWERED;
  const { clock, ask, asked } = bench(() => answer);
  for (let at = 0; at < 150; at += 1) await ask();
  expect(asked()).toBe(100);
  clock.advance(3_600_000);
  answer = YES;
  expect(await ask()).toEqual(YES);
  expect(asked()).toBe(101);
});

test.each([
  ['answered', YES],
  ['asked of nobody', DECLINED],
])('who is %s may ask as often as it likes', async (_, answer) => {
  const { ask, asked } = bench(() => answer);
  for (let at = 0; at < 150; at += 1) await ask();
  expect(asked()).toBe(150);
});

test('what a call asks that has been stopped is over before it begins, and what several ask ends with the last of them', async () => {
  const calls = new OpenCalls();
  const [one, two] = [new AbortController(), new AbortController()];
  const never = () => new Promise<never>(() => {});
  void calls.run({ signal: one.signal, itemId: 'i' }, never);
  void calls.run({ signal: two.signal }, never);
  const { calls: under, end } = calls.now;
  expect(under).toEqual(['i', undefined]);
  one.abort();
  await new Promise(setImmediate);
  expect([end.aborted, calls.now.calls]).toEqual([false, [undefined]]);
  two.abort();
  await new Promise(setImmediate);
  expect([end.aborted, calls.now.end.aborted]).toEqual([true, true]);
});
