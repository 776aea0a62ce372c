// Opaque cursors: they mean the same again, and nothing anywhere else.

import { describe, expect, test } from 'vitest';
import { decodeCursor, encodeCursor, isSeq, isThreadKey } from '../../../src/threads/cursors.ts';
import { fc } from '../../harness/chance.ts';

const SCOPE = ['thread/turns/list', 'thread-1'];

test('a cursor gives back its key', () => {
  for (const from of [
    { key: 7, inclusive: true },
    { key: 0, inclusive: false },
  ])
    expect(decodeCursor(SCOPE, encodeCursor(SCOPE, from), isSeq)).toEqual(from);
  const threads = { key: { ms: 5, id: '\u732b' }, inclusive: false };
  expect(decodeCursor(SCOPE, encodeCursor(SCOPE, threads), isThreadKey)).toEqual(threads);
});

test('the order of members in a scope does not matter, anything else does', () => {
  const cursor = encodeCursor({ a: 1, b: [2] }, { key: 7, inclusive: true });
  expect(decodeCursor({ b: [2], a: 1 }, cursor, isSeq).key).toBe(7);
  for (const other of [{ a: 1, b: [3] }, { a: 1 }, {}, null, SCOPE])
    expect(() => decodeCursor(other, cursor, isSeq)).toThrow(/invalid cursor/);
});

describe('what no page has given is refused', () => {
  const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const mark = (
    JSON.parse(Buffer.from(encodeCursor(SCOPE, { key: 1, inclusive: true }), 'base64url').toString()) as string[]
  )[0];

  test.each([
    ['nothing', ''],
    ['nonsense', '!!!'],
    ['another shape', base64({ key: 1 })],
    ['too few parts', base64([mark, 1])],
    ['too many parts', base64([mark, 1, 1, 1])],
    ['a key of another kind', base64([mark, 'x', 1])],
    ['a fraction', base64([mark, 1.5, 1])],
    ['a number beyond all', base64([mark, 1e300, 1])],
    ['a foreign mark', base64(['x', 1, 1])],
  ])('%s', (_, cursor) => {
    expect(() => decodeCursor(SCOPE, cursor, isSeq)).toThrow(expect.objectContaining({ kind: 'invalid' }));
  });

  test('and so is any text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(() => decodeCursor(SCOPE, text, isSeq)).toThrow(expect.objectContaining({ kind: 'invalid' }));
      }),
    );
  });
});

test('the keys of threads are told from other values', () => {
  for (const key of [{ ms: 1, id: 'x' }]) expect(isThreadKey(key)).toBe(true);
  for (const key of [null, 1, {}, { ms: 1 }, { ms: 1.5, id: 'x' }, { ms: 1, id: 2 }, []])
    expect(isThreadKey(key)).toBe(false);
});
