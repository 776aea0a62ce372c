// Questions of servers: which may be asked, and which answers count.

import { describe, expect, test } from 'vitest';
import { readElicitation, readElicitationAnswer } from '../../../src/mcp/elicitation.ts';

const requestedSchema = {
  type: 'object' as const,
  properties: { name: { type: 'string' }, age: { type: 'integer' }, tags: { type: 'array' }, ok: { type: 'boolean' } },
  required: ['name'],
};
const form = { mode: 'form' as const, message: 'Who?', requestedSchema };
const url = { mode: 'url' as const, message: 'Go there', url: 'https://example.com/a', elicitationId: 'e1' };

describe('a question', () => {
  test('is a form unless it says that it is an address', () => {
    expect(readElicitation({ message: 'Who?', requestedSchema })).toEqual(form);
    expect(readElicitation(url)).toEqual(url);
  });

  test.each([
    ['without a message', { requestedSchema }],
    ['with a schema of no object', { message: 'x', requestedSchema: { type: 'string' } }],
    ['with an address that no browser opens', { ...url, url: 'javascript:alert(1)' }],
    ['with a file as its address', { ...url, url: 'file:///etc/passwd' }],
    ['that is too long', { message: 'x'.repeat(300_000), requestedSchema }],
    ['that is nothing', null],
  ])('%s is none', (_, params) => {
    expect(readElicitation(params)).toBeUndefined();
  });
});

describe('an answer', () => {
  test.each([
    ['accepts with what was asked for', { action: 'accept', content: { name: 'A', age: 3, ok: true, tags: ['x'] } }],
    ['declines', { action: 'decline' }],
    ['cancels', { action: 'cancel' }],
  ])('%s', (_, answer) => {
    expect(readElicitationAnswer(form, answer)).toEqual(answer);
  });

  test('gives back no field that was not asked for', () => {
    const content = { name: 'A', secret: 's', age: null };
    expect(readElicitationAnswer(form, { action: 'accept', content })).toEqual({
      action: 'accept',
      content: { name: 'A' },
    });
    expect(readElicitationAnswer(form, { action: 'decline', content })).toEqual({ action: 'decline' });
    expect(readElicitationAnswer(url, { action: 'accept', content })).toEqual({ action: 'accept' });
  });

  test.each([
    ['without a required field', { action: 'accept', content: { age: 3 } }],
    ['with a field of another type', { action: 'accept', content: { name: 'A', age: 'three' } }],
    ['with an object as a value', { action: 'accept', content: { name: {} } }],
    ['with an action of its own', { action: 'ok', content: { name: 'A' } }],
    ['of no shape', 'accept'],
  ])('%s is none', (_, answer) => {
    expect(readElicitationAnswer(form, answer)).toBeUndefined();
  });
});
