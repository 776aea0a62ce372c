// Patterns of paths: what each of them matches, and which are not understood.

import { expect, test } from 'vitest';
import { isPattern, literalOf, matches, readPatterns } from '../../../src/sandbox/pattern.ts';

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
  ['{a/secret,b/secret}', ['/w/a/secret', '/w/b/secret/x'], ['/w/a', '/w/c/secret']],
  ['d/{a/secret,b/secret}/*', ['/w/d/a/secret/x', '/w/d/b/secret/x'], ['/w/d/a/secret']],
  ['x[]a].key', ['/w/x].key', '/w/xa.key'], ['/w/x.key']],
  ['*a?[b-d-]*', ['/w/zzaxc', '/w/aax-', '/w/a😀bz'], ['/w/axa', '/w/ab']],
  ['a+(b).*', ['/w/a+(b).c'], ['/w/aab.c']],
])('%s', (text, matched, others) => {
  expect(matched.filter((path) => !isMatched(text, path))).toEqual([]);
  expect(others.filter((path) => isMatched(text, path))).toEqual([]);
});

test('begin where the path is no longer literal, whatever the folder around is called', () => {
  const [pattern] = readPatterns('a/b/*.key', '/w/[x]');
  expect(pattern?.base).toBe('/w/[x]/a/b');
  expect(pattern && matches(pattern, '/w/[x]/a/b/c.key')).toBe(true);
  expect(readPatterns('/srv/x/{a/secret,b/secret}/*').map(({ base }) => base)).toEqual(['/srv/x', '/srv/x']);
  expect(['/a/b', 'a{b', 'a}b', '{ab}', 'app/\\[id\\]', '\\{a,b}', 'a\\*'].filter(isPattern)).toEqual([]);
  expect(['{a/b,c}', '\\\\[a]', '\\[[a]'].filter((text) => !isPattern(text))).toEqual([]);
  expect(['app/\\[id\\]', 'a\\b'].map(literalOf)).toEqual(['app/[id]', 'a\\b']);
});

test.each([
  '[x*',
  'x[].key',
  '*[!]',
  '{a,../b}',
  '*/{a,..}',
  '\\.\\./*',
  'a\\/*',
  'a/{,b}',
  '{ab}*',
  '*[z-a]',
  '{a,*',
  '*}',
  '*\\',
  '../*',
  '*/../x',
  `{${'{a,b},'.repeat(7)}c}*${'{a,b}'.repeat(7)}`,
])('not understood: %s', (text) => {
  expect(() => readPatterns(text, '/w')).toThrow(Error);
});

test('take time that grows with the name alone', () => {
  const [name, stars] = ['a'.repeat(2_000), `${'*a'.repeat(500)}*b`];
  expect(isMatched(stars, `/w/${name}`)).toBe(false);
  expect(isMatched(stars, `/w/${name}b`)).toBe(true);
});
