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

test('a row that moves to the other side of a cursor takes the place nowhere', () => {
  const { nextCursor: cursor } = firstOf(rows, 3);
  expect(pageOf(['a', 'b', 'd', 'e', 'c'], { cursor }, keys).data).toEqual(['d', 'e', 'c']);
  expect(pageOf(['e', 'a', 'b', 'c', 'd'], { cursor }, keys).data).toEqual(['d']);
});

const numbered = (from: number, count: number) => Array.from({ length: count }, (_, at) => String(1_000 + from + at));

test.each([
  ['rows stayed on both sides', [...numbered(0, 50), ...numbered(250, 50)], numbered(250, 50)],
  ['only rows before it stayed', numbered(0, 50), []],
  ['rows before it stayed, and others came', [...numbered(0, 50), ...numbered(400, 3)], numbered(400, 3)],
  ['all are others', numbered(400, 3), numbered(400, 3)],
])('a cursor of which all named rows are gone goes on at its place: %s', (_what, now, rest) => {
  const { nextCursor: cursor } = firstOf(numbered(0, 300), 150);
  expect(pageOf(now, { cursor }, keys)).toEqual({ data: rest, nextCursor: null });
});

/** The same numbers for the same seed. */
function chanceOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

test.each(Array.from({ length: 40 }, (_, seed) => [seed]))('walks while rows go and come, seed %i', (seed) => {
  const below = chanceOf(seed + 1);
  let all = numbered(0, 400);
  let next = 400;
  // In every other walk the rows are in no order of their keys.
  const isMixed = seed % 2 === 1;
  if (isMixed)
    all = all
      .map((key) => [below(1_000), key] as const)
      .sort()
      .map(([, key]) => key);
  const told: string[] = [];
  const here = new Set(all);
  for (let cursor: string | null = null, pages = 0; ; pages += 1) {
    expect(pages).toBeLessThan(1_000);
    const page: { data: string[]; nextCursor: string | null } = pageOf(all, { cursor, limit: 1 + below(60) }, keys);
    told.push(...page.data);
    cursor = page.nextCursor;
    if (cursor === null) break;
    const from = below(all.length);
    const gone = new Set(all.slice(from, from + below(200)));
    all = [...all.filter((key) => !gone.has(key)), ...numbered(next, 2)];
    next += 2;
    for (const key of gone) here.delete(key);
  }
  expect(told).toEqual(expect.arrayContaining([...here]));
  if (!isMixed) expect(told.length).toBe(new Set(told).size);
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
