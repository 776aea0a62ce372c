// The comparison of schemas behind conformance/schema.mjs: what one allows and the other does not, each way of it.

import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const FILE = fileURLToPath(new URL('../../../conformance/schema/inclusion.mjs', import.meta.url));
const { differences } = await import(FILE);

const text = { type: 'string' };
const whole = { type: 'integer' };
const object = (properties: object, required: string[] = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
});
const tagged = (type: string, properties: object) => object({ type: { const: type }, ...properties });

/** Definitions may be given beside a schema. */
function found(narrow: object, wide: object, ours: 'narrow' | 'wide' = 'narrow'): string[] {
  const placed = (schema: object) => ({ schema, root: schema });
  return differences(placed(narrow), placed(wide), ours, 'it').map(
    ({ place, says }: { place: string; says: string }) => `${place} ${says}`,
  );
}

test.each<[object, object]>([
  [text, {}],
  [whole, { type: 'number' }],
  [
    {},
    {
      anyOf: [{ type: ['null', 'boolean', 'number', 'string', 'array'] }, { type: 'object', additionalProperties: {} }],
    },
  ],
  [
    { type: 'integer', minimum: 0 },
    { type: 'integer', minimum: -1 },
  ],
  [{ const: 'a' }, { enum: ['a', 'b'] }],
  [text, { type: ['string', 'null'] }],
  [object({ a: text, b: text }), object({ a: text })],
  [object({ a: text }), object({ a: text, b: text }, ['a'])],
  [{ anyOf: [text, whole] }, { anyOf: [whole, { type: 'null' }, text] }],
  [
    { type: 'array', items: { not: {} } },
    { type: 'array', items: text },
  ],
  [
    { type: 'array', items: text, minItems: 1 },
    { type: 'array', items: text },
  ],
  [
    { type: 'object', additionalProperties: whole },
    { type: 'object', additionalProperties: { type: 'number' } },
  ],
  [tagged('x', { a: text }), { oneOf: [tagged('y', { a: whole }), tagged('x', { a: text })] }],
  [object({ a: text, b: whole }), { allOf: [object({ a: text }), object({ b: whole })] }],
  [object({ a: text, c: whole }), { ...object({ c: whole }), anyOf: [object({ a: text }), object({ b: text })] }],
])('%j is within %j', (narrow, wide) => {
  expect(found(narrow, wide)).toEqual([]);
});

test.each<[object, object, string[]]>([
  [{}, text, ['it may be anything']],
  [{ type: ['string', 'null'] }, text, ['it may be null']],
  [{ type: 'number' }, whole, ['it may be a fraction']],
  [whole, { type: 'integer', minimum: 0 }, ['it may be below 0']],
  [whole, { type: 'integer', maximum: 9 }, ['it may be above 9']],
  [text, { enum: ['a'] }, ['it may be any string']],
  [{ enum: ['a', 'b'] }, { enum: ['a'] }, ['it may be "b"']],
  [object({ a: text }, []), object({ a: text }), ['it/a may be missing']],
  [object({ a: text }), { ...object({}), additionalProperties: false }, ['it/a is not allowed']],
  [{ type: 'array', items: text }, { type: 'array', items: whole }, ['it/* may be any string']],
  [{ type: 'array', items: text }, { type: 'array', items: text, minItems: 1 }, ['it may have less than 1 entries']],
  [{ type: 'array', items: text }, { type: 'array', items: text, maxItems: 2 }, ['it may have more than 2 entries']],
  [
    { type: 'object', additionalProperties: text },
    { type: 'object', additionalProperties: whole },
    ['it/* may be any string'],
  ],
  [
    tagged('x', { a: text }),
    { oneOf: [tagged('y', { a: text }), tagged('x', { a: whole })] },
    ['it(x)/a may be any string'],
  ],
  [tagged('z', {}), { oneOf: [tagged('x', {}), tagged('y', {})] }, ['it(z)/type may be "z"']],
])('%j is not within %j', (narrow, wide, says) => {
  expect(found(narrow, wide)).toEqual(says);
});

test('what comes in and is not read is told; what goes out may have more members', () => {
  const [more, less] = [object({ a: text, b: text }), object({ a: text })];
  expect(found(more, less, 'wide')).toEqual(['it/b is not read']);
  expect(found(more, less, 'narrow')).toEqual([]);
});

test('a difference within a definition of ours is told once, by the name of the definition', () => {
  const one = { $ref: '#/definitions/One' };
  const narrow = { ...object({ x: one, y: one }), definitions: { One: object({ a: text }) } };
  expect(found(narrow, object({ x: object({ a: whole }), y: object({ a: whole }) }))).toEqual([
    'One/a may be any string',
  ]);
});

test('definitions may lead to themselves', () => {
  const list = (value: object) => ({
    $ref: '#/definitions/List',
    definitions: { List: object({ value, next: { anyOf: [{ $ref: '#/definitions/List' }, { type: 'null' }] } }) },
  });
  expect(found(list(whole), list({ type: 'number' }))).toEqual([]);
  expect(found(list(text), list(whole))).toEqual(['List/value may be any string']);
});

test('a keyword that it does not know is an error, not passed over', () => {
  expect(() => found({ type: 'string', pattern: 'a' }, text)).toThrow('pattern');
});
