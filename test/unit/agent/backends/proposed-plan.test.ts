// The plan within a message: found however the message is cut, and told as the reference tells it.

import { expect, test } from 'vitest';
import type { BackendEvent } from '../../../../src/agent/backend.ts';
import { PlanningMessage } from '../../../../src/agent/backends/proposed-plan.ts';
import { fc } from '../../../harness/chance.ts';

function told(parts: readonly string[], whole = parts.join('')): BackendEvent[] {
  const message = new PlanningMessage('m', null);
  return [...message.add(parts), ...message.complete(whole)];
}

const textOf = (events: readonly BackendEvent[], type: 'text' | 'planText'): string =>
  events.flatMap((event) => (event.type === type ? event.parts : [])).join('');

const ended = (events: readonly BackendEvent[], type: 'messageCompleted' | 'planCompleted') =>
  events.flatMap((event) => (event.type === type ? [event.text] : []));

const PARTS = ['Intro\n', '<proposed_plan>\n', '- one\n', '- two\n', '</proposed_plan>\n', 'Outro'];

test('a plan is cut out of its message and completed before it', () => {
  const events = told(PARTS);
  expect(events.map(({ type }) => type)).toEqual([
    'messageStarted',
    'text',
    'planStarted',
    'planText',
    'planText',
    'text',
    'planCompleted',
    'messageCompleted',
  ]);
  expect(ended(events, 'planCompleted')).toEqual(['- one\n- two\n']);
  expect(ended(events, 'messageCompleted')).toEqual(['Intro\nOutro']);
});

test('wherever the stream is cut, the same is told', () => {
  const text = PARTS.join('');
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: text.length }), { maxLength: 12 }), (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), text.length];
      const events = told(places.slice(1).map((to, at) => text.slice(places[at], to)));
      expect(textOf(events, 'planText')).toBe('- one\n- two\n');
      expect(textOf(events, 'text')).toBe('Intro\nOutro');
      expect(ended(events, 'messageCompleted')).toEqual(['Intro\nOutro']);
    }),
  );
});

test.each([
  ['within a line', 'see <proposed_plan> there\n'],
  ['that is closed only', 'a\n</proposed_plan>\nb'],
  ['with more behind it', '<proposed_plan> x\n'],
])('a tag %s is text', (_, text) => {
  const events = told([text]);
  expect(ended(events, 'planCompleted')).toEqual([]);
  expect(ended(events, 'messageCompleted')).toEqual([text]);
});

test('a message of nothing but a plan is no message', () => {
  const events = told(['\n<proposed_plan>\nx\n</proposed_plan>\n']);
  expect(events.map(({ type }) => type)).toEqual(['planStarted', 'planText', 'planCompleted']);
});

test('a plan that is cut off is told as far as it came, and the beginning of a tag with it', () => {
  const events = told(['<proposed_plan>\nx\n</prop']);
  expect(ended(events, 'planCompleted')).toEqual(['x\n</prop']);
  expect(textOf(events, 'planText')).toBe('x\n</prop');
});

test('blanks without end are not held back', () => {
  const message = new PlanningMessage('m', null);
  const events = Array.from({ length: 200_000 }, () => message.add(['  '])).flat();
  expect(textOf(events, 'text').length).toBeGreaterThan(399_000);
  expect(ended(message.complete('  '.repeat(200_000)), 'messageCompleted')[0]).toHaveLength(400_000);
});

test('a message that came whole is taken apart as well', () => {
  const message = new PlanningMessage('m', 'final_answer');
  const events = message.complete('Hi\n<proposed_plan>\nx\n</proposed_plan>');
  expect(events.map(({ type }) => type)).toEqual([
    'planStarted',
    'planCompleted',
    'messageStarted',
    'messageCompleted',
  ]);
});
