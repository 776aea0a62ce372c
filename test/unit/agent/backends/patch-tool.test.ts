// The patch tool of a model: how calls of it are read, in arguments and in shell lines.

import { expect, test } from 'vitest';
import { readPatchCall, readShellPatch } from '../../../../src/agent/backends/patch-tool.ts';

const PATCH = '*** Begin Patch\n*** Update File: a.txt\n*** Move to: /b.txt\n*** Delete File: c.txt\n*** End Patch';
const inFolder = (folder: string) => [
  { type: 'update', path: `${folder}/a.txt`, moveTo: '/b.txt', chunks: [] },
  { type: 'delete', path: `${folder}/c.txt` },
];

test('the text of a patch is the member input of the arguments', () => {
  expect(readPatchCall(JSON.stringify({ input: PATCH }))).toEqual({
    changes: [
      { type: 'update', path: 'a.txt', moveTo: '/b.txt', chunks: [] },
      { type: 'delete', path: 'c.txt' },
    ],
  });
});

test.each([
  ['{', /no JSON/],
  ['{"patch":"x"}', /do not fit/],
  ['{"input":1}', /do not fit/],
  ['{"input":"x"}', /^apply_patch failed: the first line of the patch/],
])('of the arguments %j it is said what is wrong', (text, problem) => {
  expect(readPatchCall(text)).toMatchObject({ problem: expect.stringMatching(problem) });
});

test.each([
  ["apply_patch <<'EOF'\n", '\nEOF'],
  ['apply_patch <<"PATCH"\n', '\nPATCH\n'],
  ['  apply_patch <<-EOF\n', '\nEOF'],
])('a shell line that only hands over a patch is one: %j', (head, tail) => {
  expect(readShellPatch(head + PATCH + tail, '/w/sub')).toEqual({ changes: inFolder('/w/sub') });
});

test.each([
  'ls',
  'apply_patch',
  `apply_patch '${PATCH}'`,
  `cd /x && apply_patch <<EOF\n${PATCH}\nEOF`,
  `echo apply_patch <<EOF\n${PATCH}\nEOF`,
])('any other line is none: %j', (line) => {
  expect(readShellPatch(line, '/w')).toBeUndefined();
});

test('what follows the here-document is not dropped in silence', () => {
  const line = `apply_patch <<EOF\n${PATCH}\nEOF\nrm -rf build`;
  expect(readShellPatch(line, '/w')).toMatchObject({ problem: expect.stringMatching(/first line/) });
});
