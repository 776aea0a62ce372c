// Patterns of paths: what each of them matches, and which are not understood.

import { expect, test } from 'vitest';
import { isPattern, matches, readPatterns } from '../../../src/sandbox/pattern.ts';

const isMatched = (text: string, path: string) => readPatterns(text, '/w').some((each) => matches(each, path));

test.each([
  ['*.env', ['/w/.env', '/w/a.env', '/w/a.env/below'], ['/w/d/a.env', '/w/a.envx', '/v/a.env', '/w']],
  ['**/*.key', ['/w/a.key', '/w/x/y/a.key'], ['/w/a.keys', '/w/key']],
  ['**/secrets', ['/w/secrets', '/w/a/secrets/b/c'], ['/w/a/secretss']],
  ['a/**', ['/w/a/b', '/w/a/b/c'], ['/w/a', '/w/ab/c']],
  ['a/**/b', ['/w/a/b', '/w/a/x/y/b'], ['/w/a', '/w/b', '/w/x/a/b']],
  ['**/a/**/b', ['/w/a/b', '/w/z/a/q/r/b', '/w/a/a/b'], ['/w/b', '/w/a/c']],
  ['a**b/c', ['/w/ab/c', '/w/aXb/c'], ['/w/a/b/c']],
  ['?', ['/w/a', '/w/😀', '/w/\n'], ['/w/ab', '/w/']],
  ['[a-c][!d]', ['/w/ax', '/w/cc'], ['/w/ad', '/w/dx', '/w/a']],
  ['x[]^]', ['/w/x]', '/w/x^'], ['/w/xa']],
  ['*.{key,p?m}', ['/w/a.key', '/w/a.pem'], ['/w/a.p', '/w/a.{key']],
  ['{a,b/{c,d}}/*', ['/w/a/x', '/w/b/d/x'], ['/w/b/x', '/w/c/x']],
  ['a\\*b*', ['/w/a*bc'], ['/w/axbc']],
  ['a+(b).*', ['/w/a+(b).c'], ['/w/aab.c']],
])('%s', (text, matched, others) => {
  expect(matched.filter((path) => !isMatched(text, path))).toEqual([]);
  expect(others.filter((path) => isMatched(text, path))).toEqual([]);
});

test('begin where the path is no longer literal, whatever the folder around is called', () => {
  const [pattern] = readPatterns('a/b/*.key', '/w/[x]');
  expect(pattern?.base).toBe('/w/[x]/a/b');
  expect(pattern && matches(pattern, '/w/[x]/a/b/c.key')).toBe(true);
  expect(['/a/b', 'a{b', 'a}b', '{ab}'].filter(isPattern)).toEqual([]);
});

test.each(['[x*', '*[z-a]', '{a,*', '*}', '*\\', '../*', '*/../x', `{${'{a,b},'.repeat(7)}c}*${'{a,b}'.repeat(7)}`])(
  'not understood: %s',
  (text) => {
    expect(() => readPatterns(text, '/w')).toThrow(Error);
  },
);
