// The text of a patch, and what is said about one that cannot be read.

import { expect, test } from 'vitest';
import { readPatch } from '../../../../src/agent/patch/grammar.ts';

const patch = (...lines: readonly string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
const keep = (text: string) => ({ kind: 'keep', text });
const remove = (text: string) => ({ kind: 'remove', text });
const add = (text: string) => ({ kind: 'add', text });

test('every kind of change is read, in the order of the patch', () => {
  const text = patch(
    '*** Add File: new/a.txt',
    '+one',
    '+',
    '+ two',
    '*** Delete File: gone.txt',
    '*** Update File: old.txt',
    '*** Move to: moved.txt',
    '@@ class A',
    '@@   def f',
    ' kept',
    '-out',
    '+in',
    '',
    '@@',
    '+last',
    '*** End of File',
  );
  expect(readPatch(text)).toEqual([
    { type: 'add', path: 'new/a.txt', content: 'one\n\n two\n' },
    { type: 'delete', path: 'gone.txt' },
    {
      type: 'update',
      path: 'old.txt',
      moveTo: 'moved.txt',
      chunks: [
        { anchors: ['class A', '  def f'], lines: [keep('kept'), remove('out'), add('in'), keep('')], isAtEnd: false },
        { anchors: [], lines: [add('last')], isAtEnd: true },
      ],
    },
  ]);
});

const update = (...lines: readonly string[]) => patch('*** Update File: f', ...lines);

test.each([
  ['the first place needs no mark', update('-a', '+b'), 1],
  ['an update that only moves', update('*** Move to: g'), 0],
  ['a line of context that looks like a header', update('@@', ' *** Add File: x', '-a'), 1],
  ['blank lines around and between', `\n\n${patch('', '*** Update File: f', '@@', '-a', '', '@@', '-b')}\n\n`, 2],
  ['windows line ends', update('@@', '-a', '+b').replaceAll('\n', '\r\n'), 1],
  ['as a here-document', `<<'EOF'\n${update('@@', '-a')}\nEOF`, 1],
  ['as many blanks before a path as one likes', update('@@', '-a').replace(' f', `${' '.repeat(200_000)}a\u2028b`), 1],
  ['white space around headers', update('@@', '-a').replace('*** Update', '  *** Update'), 1],
])('%s', (_what, text, chunks) => {
  const [change] = readPatch(text);
  expect(change?.type === 'update' && change.chunks.length).toBe(chunks);
});

test.each([
  ['', 'the first line of the patch must be "*** Begin Patch"'],
  ['hello', 'the first line of the patch must be "*** Begin Patch"'],
  ['*** Begin Patch', 'the last line of the patch must be "*** End Patch"'],
  ['*** Begin Patch\n*** Delete File: a', 'the last line of the patch must be "*** End Patch"'],
  [patch(), 'the patch changes no file'],
  [patch('*** Rename File: a'), 'line 2 of the patch: expected "*** Add File: PATH", "*** Delete File: PATH" or'],
  [patch('*** Move to: a'), 'line 2 of the patch: expected "*** Add File: PATH"'],
  [patch('*** Add File:'), 'line 2 of the patch: the path of the file is missing'],
  [patch('*** Add File: a\0b'), 'line 2 of the patch: the path of the file holds a NUL'],
  [patch('*** Add File: a', '+x', 'y'), 'line 4 of the patch: expected "*** Add File: PATH"'],
  [update(), 'line 2 of the patch: nothing says how to change f'],
  [update('@@'), 'line 3 of the patch: nothing says what to change at this place'],
  [update('@@', '-a', 'b'), 'line 5 of the patch: a line of a change begins with a blank to stay'],
  [update('@@', '-a', '*** End of File', '-b'), 'line 6 of the patch: expected "@@" before the next place'],
  [`*** Begin Patch\n${'x'.repeat(4 * 1024 * 1024)}`, 'the patch is longer than 4194304 characters'],
])('%j is refused', (text, problem) => {
  expect(() => readPatch(text)).toThrow(problem);
});
