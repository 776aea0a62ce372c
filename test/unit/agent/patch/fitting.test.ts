// Chunks of an update applied to files: where they fit, what stays as it was, and what is said when they do not fit.

import { expect, test } from 'vitest';
import { fitted } from '../../../../src/agent/patch/fitting.ts';
import { readPatch } from '../../../../src/agent/patch/grammar.ts';
import { type Effort, fullEffort } from '../../../../src/agent/patch/search.ts';

function apply(content: string, ...lines: readonly string[]): string {
  return applyWith(fullEffort(), content, ...lines);
}

function applyWith(effort: Effort, content: string, ...lines: readonly string[]): string {
  const [change] = readPatch(['*** Begin Patch', '*** Update File: f', ...lines, '*** End Patch'].join('\n'));
  if (change?.type !== 'update') throw new Error('no update');
  return fitted(content, change.chunks, 'f', effort);
}

test.each<[string, string, string[], string]>([
  ['one line', 'a\nb\nc\n', ['@@', '-b', '+B'], 'a\nB\nc\n'],
  ['several places', 'a\nb\nc\nd\n', ['@@', '-a', '+A', '@@', '-d', '+D'], 'A\nb\nc\nD\n'],
  ['the second of two equal places, by its anchor', 'f\nx\ng\nx\n', ['@@ g', '-x', '+y'], 'f\nx\ng\ny\n'],
  ['anchors inside of each other', 'A\nf\nx\nB\nf\nx\n', ['@@ B', '@@ f', '-x', '+y'], 'A\nf\nx\nB\nf\ny\n'],
  ['new lines alone go to the end', 'a\n', ['@@', '+b'], 'a\nb\n'],
  ['new lines alone behind an anchor', 'a\nb\n', ['@@ a', '+x'], 'a\nx\nb\n'],
  ['the last of two equal places', 'x\ny\nx\n', ['@@', '-x', '+z', '*** End of File'], 'x\ny\nz\n'],
  ['an empty file', '', ['@@', '+a'], 'a\n'],
  ['everything removed', 'a\n', ['@@', '-a'], ''],
  ['no line end at the end stays so', 'a\nb', ['@@', '-b', '+c'], 'a\nc'],
  ['and also behind a new last line', 'a', ['@@', ' a', '+b'], 'a\nb'],
  ['windows line ends stay', 'a\r\nb\r\n', ['@@', '-b', '+c', '+d'], 'a\r\nc\r\nd\r\n'],
  ['mixed line ends stay', 'a\nb\r\nc\n', ['@@', '-b', '+B'], 'a\nB\nc\n'],
  ['white space at the end does not matter, and stays', 'a  \nb\n', ['@@', ' a', '-b', '+c'], 'a  \nc\n'],
  ['nor does any around, and it stays', '\ta\nb\n', ['@@', '   a', '-b', '+c'], '\ta\nc\n'],
  [
    'typographic signs are taken for plain ones',
    'say \u201chi\u201d \u2013 now\n',
    ['@@', '-say "hi" - now', '+x'],
    'x\n',
  ],
  ['the strictest fit goes first', ' x\nx\n', ['@@', '-x', '+y'], ' x\ny\n'],
  ['an empty line at the end of a chunk may be missing', 'a\nb\n', ['@@', '-a', '+A', ''], 'A\nb\n'],
  ['empty lines', 'a\n\nb\n', ['@@', ' a', '', '-b', '+c'], 'a\n\nc\n'],
])('%s', (_what, content, lines, result) => {
  expect(apply(content, ...lines)).toBe(result);
});

test('very many lines', () => {
  const rest = 'x\n'.repeat(300_000);
  expect(apply(`a\n${rest}`, '@@', '-a', '+b')).toBe(`b\n${rest}`);
});

test('long lines that differ in their last sign only', () => {
  const line = 'a'.repeat(2_000);
  const lines = [...Array.from({ length: 1_500 }, () => ` ${line}`), `-${line}b`, '+c'];
  const content = `${line}\n`.repeat(3_000);
  expect(apply(`${content}${line}b\n`, '@@', ...lines)).toBe(`${content}c\n`);
});

test.each<[string, string[], string]>([
  ['a\n', ['@@', '-nothere', '+x'], 'f does not hold these lines:\nnothere'],
  ['a\nb\n', ['@@', '-b', '@@', '-a'], 'f does not hold these lines behind line 2:\na'],
  ['a\nb\n', ['@@', '-a', '*** End of File'], 'f does not hold these lines at its end:\na'],
  ['a\n', ['@@ missing', '-a'], 'f has no such line:\nmissing'],
  ['', ['@@', '-a'], 'f does not hold these lines:\na'],
])('what does not fit %j is named', (content, lines, problem) => {
  expect(() => apply(content, ...lines)).toThrow(problem);
});

test('a search that would keep everybody waiting is given up', () => {
  const content = `${'x\n'.repeat(200_000)}z\ny\n`;
  const lines = [...Array.from({ length: 5_000 }, () => ' x'), '-y'];
  expect(() => apply(content, '@@', ...lines)).toThrow('takes too long');
});

test('what a search took is not there for the next one of the patch', () => {
  const effort = { left: 15 };
  const content = `${'x\n'.repeat(10)}y\n`;
  expect(applyWith(effort, content, '@@', '-y', '+z')).toBe(`${'x\n'.repeat(10)}z\n`);
  expect(() => applyWith(effort, content, '@@', '-y', '+z')).toThrow('takes too long');
});

test('a file of too many lines is refused', () => {
  expect(() => apply('\n'.repeat(500_001), '@@', '+x')).toThrow('f has more than 500000 lines');
});
