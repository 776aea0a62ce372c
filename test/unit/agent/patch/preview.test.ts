// What is shown of a patch while it is written: whole lines only, in either form, and no more often than it grows.

import { expect, test } from 'vitest';
import { PatchPreview } from '../../../../src/agent/patch/preview.ts';

const PATCH = `*** Begin Patch
*** Add File: a.txt
+one "line"
+two\\
*** Update File: old.txt
*** Move to: new.txt
@@ class
-x
+y
*** Delete File: gone.txt
*** End Patch`;

const WHOLE = [
  { path: 'a.txt', kind: { type: 'add' }, diff: 'one "line"\ntwo\\\n' },
  { path: 'old.txt', kind: { type: 'update', move_path: 'new.txt' }, diff: '@@ class\n-x\n+y\n' },
  { path: 'gone.txt', kind: { type: 'delete' }, diff: '' },
];

test.each([
  ['text', PATCH],
  ['arguments', JSON.stringify({ input: PATCH })],
])('cut anywhere, as %s', (_form, whole) => {
  for (const size of [1, 3, 7, 1_000]) {
    const preview = new PatchPreview();
    const shown = [];
    for (let at = 0; at < whole.length; at += size) {
      const changes = preview.add([whole.slice(at, at + size)]);
      if (changes) shown.push(changes);
    }
    expect(shown.at(-1)?.map(({ path }) => path)).toEqual(['a.txt', 'old.txt', 'gone.txt']);
    expect(shown.length).toBeLessThanOrEqual(3);
    for (const changes of shown)
      for (const [index, { path, diff }] of changes.entries()) {
        expect(path).toBe(WHOLE[index]?.path);
        expect(WHOLE[index]?.diff.startsWith(diff)).toBe(true);
      }
  }
  expect(new PatchPreview().add([whole])).toEqual(WHOLE);
});

test('a long file is shown as it grows, and all that is shown stays in proportion', () => {
  const preview = new PatchPreview();
  let [times, characters] = [0, 0];
  preview.add(['*** Begin Patch\n*** Add File: a\n']);
  for (let line = 0; line < 3_000; line++) {
    const changes = preview.add([`+${'x'.repeat(50)}\n`]);
    if (!changes) continue;
    times += 1;
    characters += changes[0]?.diff.length ?? 0;
  }
  expect(times).toBeGreaterThan(5);
  expect(characters).toBeLessThan(150_000 * 6);
});

test('what is no patch, or is too long, is not shown', () => {
  expect(new PatchPreview().add(['nothing\nof the kind\n'])).toBeUndefined();
  expect(new PatchPreview().add(['{"input": 7}\n'])).toBeUndefined();
  expect(new PatchPreview().add([`*** Add File: a\n+${'x'.repeat(300_000)}\n`])).toBeUndefined();
});

test('a path of very many blanks keeps nobody waiting', () => {
  const path = `a${' '.repeat(200_000)}b`;
  expect(new PatchPreview().add([`*** Begin Patch\n*** Add File: ${path}  \n+x\n`])).toMatchObject([{ path }]);
});
