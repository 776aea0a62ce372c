// Names and texts of files that look like parts of a diff.

import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Content, objectId } from '../../../../src/agent/patch/diff-text.ts';
import { restoredFiles } from '../../../../src/agent/patch/restored.ts';
import { TurnDiff } from '../../../../src/agent/patch/turn-diff.ts';
import { fc } from '../../../harness/chance.ts';

const file = (text: string): Content => ({ text, mode: 0o100644, id: objectId(text) });

/** Which files are read for the diff of these, by path: [before, after]. */
async function readBy(files: Readonly<Record<string, readonly [string | null, string | null]>>) {
  const diff = new TurnDiff();
  const content = (text: string | null) => (text === null ? null : file(text));
  diff.observe(
    Object.entries(files).map(([path, [before, after]]) => ({ path, before: content(before), after: content(after) })),
  );
  const read: string[] = [];
  const restored = await restoredFiles(diff.text('/w'), '/w', async (path) => {
    read.push(path);
    return content(files[path]?.[1] ?? null);
  });
  const again = new TurnDiff();
  again.restore(restored);
  return { read, text: diff.text('/w'), again: again.text('/w') };
}

const SECTION = 'diff --git a/secret b/secret';
const ELSEWHERE = 'diff --git a//etc/shadow b//etc/shadow';

test.each([
  ['a name', { [`/w/x\n${SECTION}\nnew file mode 100644\nindex 1..2`]: [null, 'n\n'] }],
  ['the name of a file that is only named', { [`/w/x\n${SECTION}\n@@ -1 +1 @@\n`]: ['a\n', 'a\nb\n'] }],
  ['a text with another end of line', { '/w/x': ['', `1\r${ELSEWHERE}\r@@ -1,0 +1,0 @@\n`] }],
  ['a text with a separator of lines', { '/w/x': ['', `1\u2028${ELSEWHERE}\u2028@@ -1,0 +1,0 @@\n`] }],
] as const)('%s makes no section of its own', async (_, files) => {
  const { read, text, again } = await readBy(files as never);
  expect(read).toEqual(Object.keys(files));
  expect(again).toBe(text);
});

test('whatever a file is called, it is found again', async () => {
  const character = fc.constantFrom('a', ' ', '\n', '\t', '\r', '"', '\\', '\u0001', '\u007f', 'é', ' b/', '\u2028');
  const name = fc
    .array(character, { minLength: 1, maxLength: 8 })
    .map((all) => `/w/${all.join('')}`)
    .filter((path) => !path.endsWith('/'));
  await fc.assert(
    fc.asyncProperty(name, fc.constantFrom(null, 'a\n'), fc.constantFrom(null, 'b\n'), async (path, before, after) => {
      if (before === null && after === null) return;
      const { read, text, again } = await readBy({ [path]: [before, after] });
      expect(read).toEqual(after === null ? [] : [path]);
      expect(again).toBe(text);
    }),
  );
});

test('git takes such names for what they are', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-test-'));
  const names = ['a "b"', 'back\\slash', 'line\nfeed', 'tab\tand\u0001', 'ü b'];
  const diff = new TurnDiff();
  diff.observe(names.map((name) => ({ path: `/w/${name}`, before: file('1\n'), after: file('2\n') })));
  for (const name of names) await writeFile(join(folder, name), '1\n');
  execFileSync('git', ['apply', '-'], { cwd: folder, input: diff.text('/w') });
  for (const name of names) expect(await readFile(join(folder, name), 'utf8')).toBe('2\n');
  await rm(folder, { recursive: true });
});
