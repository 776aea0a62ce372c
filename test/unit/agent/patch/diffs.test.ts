// Differences between texts, and the diff of a whole turn: what git makes of them is what was meant.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { unifiedDiff } from '../../../../src/agent/patch/line-diff.ts';
import { type FileState, TurnDiff } from '../../../../src/agent/patch/turn-diff.ts';
import { fc } from '../../../harness/chance.ts';

test.each([
  ['one\ntwo\n', 'ONE\ntwo\n', '@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n'],
  ['', 'x\n', '@@ -0,0 +1 @@\n+x\n'],
  ['bye\n', '', '@@ -1 +0,0 @@\n-bye\n'],
  ['a\n', 'a', '@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n'],
  ['a\nb\nc\n', 'a\nc\n', '@@ -1,3 +1,2 @@\n a\n-b\n c\n'],
  ['same\n', 'same\n', ''],
])('%j to %j', (before, after, diff) => {
  expect(unifiedDiff(before, after)).toBe(diff);
});

test('texts of very many equal lines', () => {
  const same = 'x\n'.repeat(40_000);
  const ends = (letter: string) => Array.from({ length: 500 }, (_, index) => `${letter}${index}\n`).join('');
  const [before, after] = [`p\n${same}${ends('a')}`, `r\n${same}${ends('b')}`];
  expect(replay(before, unifiedDiff(before, after))).toBe(after);
});

test('changes far apart are hunks of their own', () => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`);
  const changed = lines.with(0, 'first').with(29, 'last');
  const diff = unifiedDiff(`${lines.join('\n')}\n`, `${changed.join('\n')}\n`);
  expect(diff.match(/^@@.*@@$/gm)).toEqual(['@@ -1,4 +1,4 @@', '@@ -27,4 +27,4 @@']);
});

/** The old text with the hunks applied, and the new one with them taken back; context must be what it says. */
function replay(before: string, diff: string): string {
  const old = before.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const result: string[] = [];
  let at = 0;
  const lines = diff.replaceAll(/^(.*)\n\\ No newline at end of file\n/gm, '$1\0').match(/[^\n\0]*[\n\0]/g) ?? [];
  for (const line of lines) {
    const header = /^@@ -(\d+)(?:,(\d+))? /.exec(line);
    if (header) {
      const start = Number(header[1]) - (header[2] === '0' ? 0 : 1);
      while (at < start) result.push(old[at++]!);
      continue;
    }
    const text = line.slice(1).replace('\0', '');
    if (line[0] !== '+') expect(old[at++]).toBe(text);
    if (line[0] !== '-') result.push(text);
  }
  return [...result, ...old.slice(at)].join('');
}

test('whatever the texts, the hunks lead from one to the other', () => {
  const line = fc.constantFrom('a', 'b', 'c', '', 'd');
  const text = fc.tuple(fc.array(line, { maxLength: 40 }), fc.boolean()).map(([lines, ends]) => {
    const joined = lines.join('\n');
    return ends && joined !== '' ? `${joined}\n` : joined;
  });
  fc.assert(
    fc.property(text, text, (before, after) => {
      expect(replay(before, unifiedDiff(before, after))).toBe(after);
    }),
    { numRuns: 500 },
  );
});

test('very different texts are replaced whole', () => {
  const text = (word: string) => Array.from({ length: 2_000 }, (_, index) => `${word} ${index}\n`).join('');
  expect(replay(text('old'), unifiedDiff(text('old'), text('new')))).toBe(text('new'));
});

const file = (text: string): FileState => ({ text, mode: 0o644 });

test('a turn is shown from what was there before it to what is there now', () => {
  const turn = new TurnDiff();
  turn.add([{ path: '/w/b.txt', before: file('ONE\ntwo\n'), after: file('1\ntwo\n') }]);
  turn.add([
    { path: '/w/b.txt', before: file('1\ntwo\n'), after: file('1\n2\n') },
    { path: '/elsewhere/x', before: null, after: { text: 'x\n', mode: 0o755 } },
  ]);
  expect(turn.text('/w')).toBe(
    [
      'diff --git a//elsewhere/x b//elsewhere/x',
      'new file mode 100755',
      'index 0000000000000000000000000000000000000000..587be6b4c3f93f93c489c0111bba5596147a26cb',
      '--- /dev/null',
      '+++ b//elsewhere/x',
      '@@ -0,0 +1 @@',
      '+x',
      'diff --git a/b.txt b/b.txt',
      'index 4c1ee586b89c236961f884e55c2745659e6e45f6..1191247b6d9a206f6ba3d8ac79e26d041dd86941',
      '--- a/b.txt',
      '+++ b/b.txt',
      '@@ -1,2 +1,2 @@',
      '-ONE',
      '-two',
      '+1',
      '+2',
      '',
    ].join('\n'),
  );
});

test('shown again, a turn is what it is by then, from where one looks by then', () => {
  const turn = new TurnDiff();
  const hunks = () => turn.text('/w').match(/^[-+][^-+].*$/gm);
  turn.add([{ path: '/w/a', before: file('1\n'), after: file('2\n') }]);
  expect([hunks(), hunks()]).toEqual([
    ['-1', '+2'],
    ['-1', '+2'],
  ]);
  turn.add([
    { path: '/w/a', before: file('2\n'), after: file('3\n') },
    { path: '/w/b', before: null, after: file('b\n') },
  ]);
  expect(hunks()).toEqual(['-1', '+3', '+b']);
  expect(turn.text('/').match(/^diff .*$/gm)).toEqual(['diff --git a/w/a b/w/a', 'diff --git a/w/b b/w/b']);
});

test('moves, removals and what comes to nothing', () => {
  const turn = new TurnDiff();
  turn.add([{ path: '/w/to', movedFrom: '/w/from', before: file('a\n'), after: file('b\n') }]);
  expect(turn.text('/w')).toMatch(/^diff --git a\/from b\/to\nindex [\da-f.]+\n--- a\/from\n\+\+\+ b\/to\n/);
  turn.add([{ path: '/w/from', movedFrom: '/w/to', before: file('b\n'), after: file('a\n') }]);
  expect(turn.text('/w')).toBe('');
  turn.add([{ path: '/w/new', before: null, after: file('x') }]);
  turn.add([{ path: '/w/newer', movedFrom: '/w/new', before: file('x'), after: file('x') }]);
  expect(turn.text('/w')).toMatch(/^diff --git a\/newer b\/newer\nnew file/);
  turn.add([{ path: '/w/newer', before: file('x'), after: null }]);
  expect(turn.text('/w')).toBe('');
  turn.add([{ path: '/w/gone', before: file('x\n'), after: null }]);
  turn.add([{ path: '/w/gone', movedFrom: '/w/other', before: file('o\n'), after: file('o\n') }]);
  expect(turn.text('/w').match(/^diff .*$/gm)).toEqual(['diff --git a/gone b/gone', 'diff --git a/other b/other']);
  expect(turn.isEmpty).toBe(false);
});

test('a diff that grows too large still names its files', () => {
  const turn = new TurnDiff();
  turn.add([{ path: '/w/large', before: null, after: file('x\n'.repeat(700_000)) }]);
  expect(turn.text('/w')).toMatch(/^diff --git a\/large b\/large\nnew file .*\nindex .*\nBinary files .* differ\n$/);
});

test('texts that there is no room for are only named, and what comes to nothing is still known', () => {
  const turn = new TurnDiff(20);
  const long = file('123456789\n');
  turn.add([{ path: '/w/a', before: long, after: file('987654321\n') }]);
  turn.add([{ path: '/w/b', before: long, after: file('1\n') }]);
  expect(turn.text('/w').match(/^(diff|Binary|[-+]\d).*$/gm)).toEqual([
    'diff --git a/a b/a',
    '-123456789',
    '+987654321',
    'diff --git a/b b/b',
    'Binary files a/b and b/b differ',
  ]);
  turn.add([{ path: '/w/b', before: file('1\n'), after: long }]);
  expect(turn.text('/w').match(/^diff.*$/gm)).toEqual(['diff --git a/a b/a']);
  turn.add([{ path: '/w/a', before: file('987654321\n'), after: file('0\n') }]);
  expect(turn.text('/w')).toMatch(/^\+0$/m);
});

test('git applies the diff of a turn', () => {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-test-'));
  try {
    const before = Array.from({ length: 50 }, (_, index) => `line ${index}\n`).join('');
    const after = before.replace('line 3\n', 'three\n').replace('line 40\n', '').replace(/\n$/, '');
    writeFileSync(join(folder, 'f'), before);
    writeFileSync(join(folder, 'gone'), 'bye\n');
    const turn = new TurnDiff();
    turn.add([
      { path: join(folder, 'f'), before: file(before), after: file(after) },
      { path: join(folder, 'gone'), before: file('bye\n'), after: null },
      { path: join(folder, 'sub/new'), before: null, after: file('hello\n') },
    ]);
    execFileSync('git', ['apply', '-'], { cwd: folder, input: turn.text(folder) });
    expect(readFileSync(join(folder, 'f'), 'utf8')).toBe(after);
    expect(readFileSync(join(folder, 'sub/new'), 'utf8')).toBe('hello\n');
    expect(() => readFileSync(join(folder, 'gone'))).toThrow('ENOENT');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
