// What a turn did before a restart, worked out backwards from its diff.

import { expect, test } from 'vitest';
import { type Content, objectId } from '../../../../src/agent/patch/diff-text.ts';
import { unifiedDiff } from '../../../../src/agent/patch/line-diff.ts';
import { restoredFiles, takenBack } from '../../../../src/agent/patch/restored.ts';
import { type Observation, TurnDiff } from '../../../../src/agent/patch/turn-diff.ts';
import { fc } from '../../../harness/chance.ts';

const file = (text: string, mode = 0o644): Content => ({ text, mode, id: objectId(text) });
const binary = (name: string, mode = 0o644): Content => ({ text: undefined, mode, id: objectId(name) });

/** The diff of what was found, and what comes of it when it is restored with these files on disk. */
async function again(
  found: readonly Observation[],
  disk: Readonly<Record<string, Content>>,
  more: readonly Observation[] = [],
) {
  const first = new TurnDiff();
  first.observe(found);
  const second = new TurnDiff();
  second.restore(await restoredFiles(first.text('/w'), '/w', async (path) => disk[path] ?? null));
  second.observe(more);
  return [first.text('/w'), second.text('/w')] as const;
}

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

test('files that came, went, changed, moved, and ones that are only named, are shown as before', async () => {
  const disk = {
    '/w/new': file('n\n'),
    '/w/run me': file('2\n', 0o755),
    '/w/mode': file('same\n', 0o755),
    '/w/to': file('moved\n'),
    '/w/picture': binary('two'),
    '/elsewhere/x': file('x'),
  };
  const [first, second] = await again(
    [
      { path: '/w/new', before: null, after: disk['/w/new'] },
      { path: '/w/gone', before: file('g'), after: null },
      { path: '/w/run me', before: file('1\n'), after: disk['/w/run me'] },
      { path: '/w/mode', before: file('same\n'), after: disk['/w/mode'] },
      { path: '/w/from', before: file('moved\n'), after: null },
      { path: '/w/to', before: null, after: disk['/w/to'] },
      { path: '/w/picture', before: binary('one'), after: disk['/w/picture'] },
      { path: '/elsewhere/x', before: file(''), after: disk['/elsewhere/x'] },
    ],
    disk,
  );
  expect(second).toBe(first);
  expect(first.match(/^(?:diff|old|new|rename|Binary).*$/gm)).toEqual([
    'diff --git a//elsewhere/x b//elsewhere/x',
    'diff --git a/gone b/gone',
    'diff --git a/mode b/mode',
    'old mode 100644',
    'new mode 100755',
    'diff --git a/new b/new',
    'new file mode 100644',
    'diff --git a/picture b/picture',
    'Binary files a/picture and b/picture differ',
    'diff --git a/run me b/run me',
    'old mode 100644',
    'new mode 100755',
    'diff --git a/from b/to',
    'rename from from',
    'rename to to',
  ]);
});

test('what was there first stays the first, whatever is found after the restart', async () => {
  const found = [{ path: '/w/a', before: file('1\n'), after: file('2\n') }];
  const more = [{ path: '/w/a', before: file('2\n'), after: file('3\n') }];
  const [, second] = await again(found, { '/w/a': file('2\n') }, more);
  expect(second.match(/^[-+]\d$/gm)).toEqual(['-1', '+3']);
  const back = [{ path: '/w/a', before: file('2\n'), after: file('1\n') }];
  expect((await again(found, { '/w/a': file('2\n') }, back))[1]).toBe('');
});

test('of a file that something else has changed since, it is only told that it is another', async () => {
  const found = [{ path: '/w/a', before: file('1\n'), after: file('2\n') }];
  const [, second] = await again(found, { '/w/a': file('else\n') });
  expect(second).toMatch(/^diff --git a\/a b\/a\nindex [\da-f.]+\nBinary files a\/a and b\/a differ\n$/);
});
