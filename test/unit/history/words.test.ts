// The words of texts, and where a term lies in one.

import { describe, expect, it } from 'vitest';
import { firstMatch, matchesIn, patternOf, snippetOf, wordPatternOf } from '../../../src/history/matches.ts';
import { addWords, wantedOf } from '../../../src/history/words.ts';
import { fc } from '../../harness/chance.ts';

const wordsOf = (text: string): string[] => {
  const words = new Set<string>();
  addWords(text, words);
  return [...words];
};

describe('the words of a text', () => {
  it.each([
    ['Hello, World! hello', ['hello', 'world']],
    ['snake_case and v1.25', ['snake', 'case', 'and', 'v1', '25']],
    ['Größe ÉCOLE', ['größe', 'école']],
    ['ｆｕｌｌ ﬁne', ['full', 'fine']],
    ['हिन्दी', ['हिन्दी']],
    ['漢字検索', ['漢字', '字検', '検索', '索']],
    ['字', ['字']],
    ['カード番号', ['カー', 'ード', 'ド番', '番号', '号']],
    ['검색어 abc漢字x', ['검색', '색어', '어', 'abc', '漢字', '字', 'x']],
    ['𠮷野家', ['𠮷野', '野家', '家']],
    ['?! ...', []],
  ])('%s', (text, words) => expect(wordsOf(text)).toEqual(words));

  it('ends a long word early', () => {
    expect(wordsOf('x'.repeat(1000))).toEqual(['x'.repeat(40)]);
  });
});

describe('what a search needs', () => {
  it.each([
    ['hello wor', ['hello'], ['wor']],
    ['hello world.', ['hello', 'world'], []],
    ['検索', ['検索'], []],
    ['字', [], ['字']],
    ['abc検索', ['abc', '検索'], []],
    ['C++', ['c'], []],
    ['...', [], []],
  ])('%s', (term, words, beginnings) => expect(wantedOf(term)).toEqual({ words, beginnings }));

  it('is in every text that has the term from the beginning of a word on', () => {
    const letters = fc.constantFrom('a', 'B', 'é', '漢', '字', 'カ', '검', '1', '_', '.', '𠮷');
    const words = fc.array(fc.string({ unit: letters, maxLength: 6 }), { maxLength: 5 });
    fc.assert(
      fc.property(words, words, words, fc.nat(4), (before, term, behind, rest) => {
        const sought = term.join(' ').trim();
        const found = new Set(wordsOf(`${before.join(' ')} ${sought}${'b'.repeat(rest)} ${behind.join(' ')}`));
        const wanted = wantedOf(sought);
        // A letter right behind the term continues its last word only where that may be unfinished.
        if (rest > 0 && !/[\p{L}\p{N}]$/u.test(sought)) return;
        for (const word of wanted.words) expect(found).toContain(word);
        for (const start of wanted.beginnings) expect([...found].some((word) => word.startsWith(start))).toBe(true);
      }),
    );
  });
});

describe('a term in a text', () => {
  it('is found as it is, whatever its case and white space', () => {
    expect(firstMatch('see NEEDLE here', patternOf('needle'))).toEqual({ start: 4, end: 10 });
    expect(firstMatch('two\n  words', patternOf(' two words '))).toEqual({ start: 0, end: 11 });
    expect(firstMatch('a.b', patternOf('a.b'))).toEqual({ start: 0, end: 3 });
    expect(firstMatch('axb', patternOf('a.b'))).toBeUndefined();
    expect(firstMatch('what? (yes) [1]', patternOf('? (yes) [1'))).toEqual({ start: 4, end: 14 });
    expect([...matchesIn('aaa a', patternOf('aa'))]).toEqual([{ start: 0, end: 2 }]);
  });

  it('begins a word where the index finds words only from their beginning', () => {
    for (const text of ['a fox', 'FOX', '(foxes', '字fox', '_fox']) {
      expect(firstMatch(text, wordPatternOf('fox'))).toBeDefined();
    }
    for (const text of ['xfox', '1fox', 'éfox']) expect(firstMatch(text, wordPatternOf('fox'))).toBeUndefined();
    for (const term of ['検索', '.5', '+']) {
      expect(firstMatch(`全文${term}1`, wordPatternOf(term))).toBeDefined();
      expect(firstMatch(`a${term}`, wordPatternOf(term))).toBeDefined();
    }
  });

  it('is any text without being a pattern', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary', minLength: 1 }), (around, term) => {
        fc.pre(term.trim() !== '' && term.trim() === term);
        const match = firstMatch(`${around} ${term}`, patternOf(term));
        expect(match).toBeDefined();
      }),
    );
  });

  it('is found in the same time however much of it comes again and again', () => {
    const text = 'a   '.repeat(4 * 1024 * 1024);
    // Of this process: a busy machine does not count.
    const begun = process.cpuUsage();
    expect(firstMatch(text, patternOf(`${'a '.repeat(127)}b`))).toBeUndefined();
    expect(process.cpuUsage(begun).user).toBeLessThan(15_000_000);
    expect([...matchesIn('aabaaab aab', patternOf('aab'))].map(({ start }) => start)).toEqual([0, 4, 8]);
    expect(firstMatch('abcabab ab', wordPatternOf('ab'))).toEqual({ start: 0, end: 2 });
    expect(firstMatch('xabab abab', wordPatternOf('abab'))).toEqual({ start: 6, end: 10 });
  });

  it('is the same in all cases of its letters, as for patterns', () => {
    for (let point = 0x80; point < 0x20000; point += 1) {
      if (point >= 0xd800 && point < 0xe000) continue;
      const character = String.fromCodePoint(point);
      for (const other of [character.toLowerCase(), character.toUpperCase()]) {
        if (other === character || [...other].length > 1) continue;
        const isSame = new RegExp(`^${character}$`, 'iu').test(other);
        expect([character, firstMatch(other, patternOf(character)) !== undefined]).toEqual([character, isSame]);
      }
    }
  });

  it('is shown with what is around it, in whole characters', () => {
    const text = `${'😀'.repeat(100)}x needle ${'😀'.repeat(100)}`;
    const match = firstMatch(text, patternOf('needle')) as { start: number; end: number };
    const snippet = snippetOf(text, match);
    expect(snippet.text.slice(snippet.start, snippet.end)).toBe('needle');
    expect(/\p{Surrogate}/u.test(snippet.text)).toBe(false);
    expect(snippet.text.length).toBeLessThan(180);
    const spaced = `a${' '.repeat(100_000)}b`;
    const long = snippetOf(spaced, firstMatch(spaced, patternOf('a b')) as { start: number; end: number });
    expect(long).toEqual({ text: spaced.slice(0, 280), start: 0, end: 200 });
    expect(snippetOf('needle', { start: 0, end: 6 })).toEqual({ text: 'needle', start: 0, end: 6 });
  });
});
