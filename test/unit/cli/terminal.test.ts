// Text for people: nothing a terminal would obey, colours only where there is one, lines that fit.

import { expect, test } from 'vitest';
import { cut, folded, paintFor, roomOf, visible, widthOf } from '../../../src/cli/terminal.ts';
import { fc } from '../../harness/chance.ts';

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

test('what is cut fits its columns, wide characters and marks counted as they are shown', () => {
  expect([cut('short', 5), cut('longer', 5), cut('', 0)]).toEqual(['short', 'long…', '']);
  expect([cut('漢字漢字', 8), cut('漢字漢字', 7), cut('漢字漢字', 6)]).toEqual(['漢字漢字', '漢字漢…', '漢字…']);
  expect(cut('e\u0301e\u0301', 2)).toBe('e\u0301e\u0301');
  expect(cut('🙂🙂🙂', 5)).toBe('🙂🙂…');
});

test('lines have the room of the terminal, and where there is none all that they need', () => {
  expect(roomOf({ isTTY: true, columns: 40 })).toBe(40);
  expect(roomOf({ isTTY: true, columns: 3 })).toBe(20);
  expect(roomOf({ isTTY: false, columns: 40 })).toBe(Number.POSITIVE_INFINITY);
  expect([widthOf({ columns: 200 }), widthOf({ columns: 0 })]).toEqual([100, 80]);
});
