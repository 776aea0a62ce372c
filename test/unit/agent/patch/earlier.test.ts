// What earlier patches of a turn did, worked out backwards.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { earlierDifferences, takenBack } from '../../../../src/agent/patch/earlier.ts';
import { unifiedDiff } from '../../../../src/agent/patch/line-diff.ts';
import type { FileUpdateChange, ItemOf } from '../../../../src/model/item.ts';

const item = (...changes: FileUpdateChange[]): ItemOf<'fileChange'> => ({
  ...{ type: 'fileChange', id: 'i', changes, status: 'completed', startedAtMs: 1, completedAtMs: 2 },
});
const add = (path: string, diff: string): FileUpdateChange => ({ path, kind: { type: 'add' }, diff });
const remove = (path: string, diff: string): FileUpdateChange => ({ path, kind: { type: 'delete' }, diff });
const update = (path: string, before: string, after: string, to: string | null = null): FileUpdateChange => ({
  path,
  kind: { type: 'update', move_path: to },
  diff: unifiedDiff(before, after) + (to === null ? '' : `\n\nMoved to: ${to}`),
});
const file = (text: string) => ({ text, mode: 0o644 });
const disk = (files: Record<string, string>) => async (path: string) =>
  files[path] === undefined ? null : file(files[path]);

test('whatever the texts, hunks are taken back', () => {
  const line = fc.constantFrom('a', 'b', 'c', '', '\\ No newline at end of file');
  const text = fc.tuple(fc.array(line, { maxLength: 30 }), fc.boolean()).map(([lines, ends]) => {
    const joined = lines.join('\n');
    return ends && joined !== '' ? `${joined}\n` : joined;
  });
  fc.assert(
    fc.property(text, text, (before, after) => {
      expect(takenBack(after, unifiedDiff(before, after))).toBe(before);
    }),
    { numRuns: 500 },
  );
  expect(takenBack('else\n', unifiedDiff('a\n', 'b\n'))).toBeUndefined();
});

test('patches one after the other are found in their order', async () => {
  const items = [
    item(add('/n', 'n\n'), update('/a', '1\n2\n', '1\n3\n')),
    item(update('/a', '1\n3\n', '0\n3\n', '/b'), remove('/n', 'n\n')),
  ];
  expect(await earlierDifferences(items, disk({ '/b': '0\n3\n' }))).toEqual([
    [
      { path: '/n', before: null, after: file('n\n') },
      { path: '/a', before: file('1\n2\n'), after: file('1\n3\n') },
    ],
    [
      { path: '/b', movedFrom: '/a', before: file('1\n3\n'), after: file('0\n3\n') },
      { path: '/n', before: file('n\n'), after: null },
    ],
  ]);
});

test('what was changed by something else since is left out', async () => {
  const items = [item(update('/a', '1\n', '2\n'), add('/b', 'b\n')), item(update('/a', '2\n', '3\n'))];
  const found = await earlierDifferences(items, disk({ '/a': 'else\n', '/b': 'b\n' }));
  expect(found).toEqual([[{ path: '/b', before: null, after: file('b\n') }], []]);
});
