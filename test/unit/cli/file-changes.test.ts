// Changes of files as people are shown them: every line of them.

import { expect, test } from 'vitest';
import { bodyOf, headOf } from '../../../src/cli/file-changes.ts';

const path = '/w/a';

test('what looks like the note of a move is shown where it is a line of the file', () => {
  expect(bodyOf({ path, kind: { type: 'delete' }, diff: 'one\n\nMoved to: here' })).toEqual([
    '-one',
    '-',
    '-Moved to: here',
  ]);
});

test('a move names both places and shows the hunks', () => {
  const change = {
    path,
    kind: { type: 'update', move_path: '/w/b' },
    diff: '@@ -1 +1 @@\n-x\n+y\n\n\nMoved to: /w/b',
  } as const;
  expect(headOf(change)).toBe('moved: /w/a to /w/b');
  expect(bodyOf(change)).toEqual(['@@ -1 +1 @@', '-x', '+y']);
  expect(bodyOf({ ...change, diff: '\n\nMoved to: /w/b' })).toEqual([]);
});

test('very many empty lines', () => {
  expect(bodyOf({ path, kind: { type: 'add' }, diff: `${'\n'.repeat(200_000)}x\n` })).toHaveLength(200_001);
});
