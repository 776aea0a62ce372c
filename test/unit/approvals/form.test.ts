// Forms of MCP servers: what each field is, and which answers fit.

import { describe, expect, test } from 'vitest';
import { readAnswer } from '../../../src/approvals/answers.ts';
import { fieldsOf, readContent } from '../../../src/approvals/form.ts';
import type { ProposalOf } from '../../../src/model/approval.ts';
import type { Elicitation } from '../../../src/model/elicitation.ts';

const formOf = (properties: Record<string, unknown>, required: readonly string[] = []) => ({
  type: 'object' as const,
  properties,
  required,
});

const read = (schema: object, value: unknown) => readContent(formOf({ a: schema }), { a: value });
const fits = (schema: object, value: unknown): boolean => 'content' in read(schema, value);

const TITLED = [{ const: 'r', title: 'Red' }, { const: 'g' }, { title: 'no value' }];

describe('a field', () => {
  test.each([
    ['text', { type: 'string' }, 'x', 7],
    ['text that is long enough', { type: 'string', minLength: 2 }, '\u{1f600}\u{1f600}', '\u{1f600}'],
    ['text that is short enough', { type: 'string', maxLength: 1 }, '\u{1f600}', 'xy'],
    ['an email address', { type: 'string', format: 'email' }, 'ann@example.com', 'ann at example'],
    ['an address', { type: 'string', format: 'uri' }, 'https://example.com/a?b', 'example.com/a b'],
    ['a date', { type: 'string', format: 'date' }, '2028-02-29', '2026-02-29'],
    ['a date with a time', { type: 'string', format: 'date-time' }, '2026-01-31T12:00:00.5+01:00', '2026-01-31 12:00'],
    ['a format that nobody knows', { type: 'string', format: 'toString' }, 'anything', null],
    ['a number', { type: 'number', minimum: 0.5, maximum: 1.5 }, 1.5, 1.6],
    ['a number that is one', { type: 'number' }, -1e300, '1'],
    ['a whole number', { type: 'integer', minimum: 1 }, 3, 3.5],
    ['yes or no', { type: 'boolean' }, false, 'false'],
    ['one of some', { type: 'string', enum: ['r', 'g'] }, 'g', 'b'],
    ['one of some with titles', { type: 'string', oneOf: TITLED }, 'g', 'Red'],
    ['one of some with names', { type: 'string', enum: ['r'], enumNames: ['Red'] }, 'r', 'Red'],
    ['several', { type: 'array', items: { type: 'string', enum: ['r', 'g'] }, maxItems: 2 }, ['g', 'r'], ['b']],
    ['enough of several', { type: 'array', items: { anyOf: TITLED }, minItems: 2 }, ['g', 'r'], ['g']],
    ['each of several once', { type: 'array', items: { enum: ['r'] } }, ['r'], ['r', 'r']],
    ['several of any', { type: 'array' }, ['x', 'x'], [1]],
    ['what no version of the protocol has', { type: 'object' }, 'x', { x: 1 }],
  ])('of %s', (_, schema, good, bad) => {
    expect(read(schema, good)).toEqual({ content: { a: good }, leftOut: [] });
    if (bad !== null) expect(fits(schema, bad)).toBe(false);
  });

  test('has what the server suggests, unless that would not be taken', () => {
    const fields = fieldsOf(
      formOf({ good: { type: 'integer', default: 3 }, bad: { type: 'integer', default: 'x' }, none: true }, ['good']),
    );
    expect(fields.map(({ name, isRequired, suggested }) => [name, isRequired, suggested])).toEqual([
      ['good', true, 3],
      ['bad', false, undefined],
      ['none', false, undefined],
    ]);
  });
});

describe('what is filled in', () => {
  const form = formOf({ name: { type: 'string' }, age: { type: 'integer' } }, ['name']);

  test('is only what was asked for', () => {
    const given = JSON.parse('{"name":"A","age":null,"more":"m","__proto__":{"x":1}}');
    expect(readContent(form, given)).toEqual({ content: { name: 'A' }, leftOut: ['more', '__proto__'] });
    const odd = formOf(JSON.parse('{"__proto__":{"type":"string"}}'));
    expect(readContent(odd, JSON.parse('{"__proto__":"x"}'))).toMatchObject({ leftOut: [] });
    expect(readContent(formOf({ toString: { type: 'string' } }, ['toString']), {})).toHaveProperty('problem');
  });

  test('is told to be wrong without a word of it', () => {
    const problems = [{ age: 1 }, { name: 7 }, { name: 'A', age: 'marker' }].map((given) => readContent(form, given));
    expect(problems).toEqual([
      { problem: 'the field name has to be filled in' },
      { problem: 'the field name does not fit: it has to be text' },
      { problem: 'the field age does not fit: it has to be a number' },
    ]);
  });
});

describe('an answer', () => {
  const asked = (question: Elicitation) =>
    ({ kind: 'elicitation', question }) as Partial<ProposalOf<'elicitation'>> as ProposalOf<'elicitation'>;
  const requestedSchema = formOf({ name: { type: 'string' } }, ['name']);
  const form = asked({ mode: 'form', message: 'Who?', requestedSchema });
  const address = asked({ mode: 'url', message: 'Go', url: 'https://example.com', elicitationId: 'e' });

  test.each([
    ['accepts', { action: 'accept', content: { name: 'A' }, _meta: null }, ['name'], { name: 'A' }],
    ['declines', { action: 'decline', content: { name: 'A' } }, undefined, undefined],
    ['cancels', { action: 'cancel' }, undefined, undefined],
  ])('%s: what is kept names fields and holds no values', (_, result, fields, content) => {
    const decision = fields ? { action: result.action, fields } : { action: result.action };
    expect(readAnswer(form, { result })).toEqual({ decision, ...(content ? { content } : {}) });
  });

  test('to an address gives nothing away', () => {
    expect(readAnswer(address, { result: { action: 'accept', content: { name: 'A' } } })).toEqual({
      decision: { action: 'accept' },
    });
  });

  test.each([
    ['without a field that is needed', { result: { action: 'accept', content: {} } }],
    ['without content', { result: { action: 'accept' } }],
    ['with an action of its own', { result: { action: 'ok', content: { name: 'A' } } }],
    ['of no shape', { result: 'accept' }],
    ['that is an error', { error: { code: 1, message: 'no' } }],
  ])('%s is none', (_, answer) => {
    expect(readAnswer(form, answer)).toHaveProperty('problem');
  });
});
