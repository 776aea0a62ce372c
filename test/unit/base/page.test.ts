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

const many = Array.from({ length: 300 }, (_, index) => `row ${index}`);

test.each([
  ['a hundred before the cursor', many.filter((_, index) => index < 50 || index >= 150), 150],
  ['a hundred behind it', many.filter((_, index) => index < 150 || index >= 250), 250],
])('a list of names holds its cursor when what went is: %s', (_, now, next) => {
  const { nextCursor } = firstOf(many, 150);
  expect(pageOf(now, { cursor: nextCursor }, keys).data[0]).toBe(`row ${next}`);
});

test('a list that has an order holds its cursor whatever goes', () => {
  const ordered = { ...keys, orderOf: (row: string) => Number(row.slice(4)) };
  const { nextCursor: cursor } = pageOf(many, { limit: 150 }, ordered);
  const around = many.filter((_, index) => index < 20 || index >= 280);
  expect(pageOf(around, { cursor }, ordered).data).toEqual(many.slice(280));
  expect(pageOf(many.slice(0, 100), { cursor }, ordered)).toEqual({ data: [], nextCursor: null });
  expect(() => pageOf(many, { cursor: firstOf(many, 150).nextCursor }, ordered)).toThrow('invalid cursor');
});

test('a cursor is good for its list only', () => {
  const { nextCursor: cursor } = firstOf(rows, 1);
  expect(() => pageOf(rows, { cursor }, { ...keys, scope: ['some/list', 'other'] })).toThrow('invalid cursor');
  for (const wrong of ['3', 'garbage', '', 'W10'])
    expect(() => pageOf(rows, { cursor: wrong }, keys)).toThrow('invalid');
  expect(firstOf(rows, 0).data).toEqual(['a']);
});
