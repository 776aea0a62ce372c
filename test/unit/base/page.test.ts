// Pages of a list in memory: each row that stays comes once, whatever goes or comes meanwhile.

import { expect, test } from 'vitest';
import { pageOf } from '../../../src/base/page.ts';

const keys = { scope: ['some/list'], keyOf: (row: string) => row };
const rows = ['a', 'b', 'c', 'd', 'e'];
const firstOf = (all: readonly string[], limit: number) => pageOf(all, { limit }, keys);

test.each([
  ['nothing', rows, ['d', 'e']],
  ['one before', ['b', 'c', 'd', 'e'], ['d', 'e']],
  ['the last one given', ['a', 'b', 'd', 'e'], ['d', 'e']],
  ['all that were given', ['d', 'e'], ['d', 'e']],
  ['the next one', ['a', 'b', 'c', 'e'], ['e']],
  ['none, and one came before', ['0', ...rows], ['d', 'e']],
  ['none, and one came behind', [...rows, 'f'], ['d', 'e', 'f']],
])('the page behind three rows when what went is: %s', (_, now, rest) => {
  const { data, nextCursor } = firstOf(rows, 3);
  expect(data).toEqual(['a', 'b', 'c']);
  expect(pageOf(now, { cursor: nextCursor }, keys)).toEqual({ data: rest, nextCursor: null });
});

test('a cursor is good for its list only', () => {
  const { nextCursor: cursor } = firstOf(rows, 1);
  expect(() => pageOf(rows, { cursor }, { ...keys, scope: ['some/list', 'other'] })).toThrow('invalid cursor');
  for (const wrong of ['3', 'garbage', '', 'W10'])
    expect(() => pageOf(rows, { cursor: wrong }, keys)).toThrow('invalid');
  expect(firstOf(rows, 0).data).toEqual(['a']);
});
