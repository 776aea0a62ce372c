// Text for people: nothing a terminal would obey, colours only where there is one, lines that fit.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { folded, paintFor, visible } from '../../../src/cli/terminal.ts';

test('escape sequences and hidden marks are shown, not obeyed', () => {
  expect(visible('\u001b[2Jrm\u202e -rf\u0007')).toBe('\\u001b[2Jrm\\u202e -rf\\u0007');
  expect(visible('one\r\ntwo\tthree\n')).toBe('one\ntwo\tthree\n');
  expect(visible('a\u061cb\u2028c\u2029')).toBe('a\\u061cb\\u2028c\\u2029');
});

test('no text keeps a control character but newline and tab', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(visible(text)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }),
  );
});

test('colours need a terminal that wants them', () => {
  expect(paintFor({ isTTY: true }, {})('red', 'x')).toBe('\u001b[31mx\u001b[39m');
  expect(paintFor({ isTTY: true }, { NO_COLOR: '1' })('red', 'x')).toBe('x');
  expect(paintFor({ isTTY: true }, { TERM: 'dumb' })('red', 'x')).toBe('x');
  expect(paintFor({ isTTY: false }, {})('red', 'x')).toBe('x');
});

test('folded lines fit and lose nothing but the blanks at which they are broken', () => {
  expect(folded('one two three', 7)).toEqual(['one two', 'three']);
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 1, max: 30 }), (text, width) => {
      const lines = folded(text, width);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
      expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll('\n', '').replaceAll(' ', ''));
    }),
  );
});
