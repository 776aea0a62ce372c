// Questions of servers: which may be asked.

import { describe, expect, test } from 'vitest';
import { readElicitation } from '../../../src/mcp/elicitation.ts';

const requestedSchema = {
  type: 'object' as const,
  properties: { name: { type: 'string' }, age: { type: 'integer' }, tags: { type: 'array' }, ok: { type: 'boolean' } },
  required: ['name'],
};
const form = { mode: 'form' as const, message: 'Who?', requestedSchema };
const url = { mode: 'url' as const, message: 'Go there', url: 'https://example.com/a', elicitationId: 'e1' };

const levels = (count: number): unknown => (count === 0 ? 0 : [levels(count - 1)]);

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
    ['with levels without end', { message: 'x', requestedSchema: { ...requestedSchema, deep: levels(200) } }],
    ['that is too long', { message: 'x'.repeat(300_000), requestedSchema }],
    ['that is nothing', null],
  ])('%s is none', (_, params) => {
    expect(readElicitation(params)).toBeUndefined();
  });
});
