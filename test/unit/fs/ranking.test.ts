// Ranking paths: by name first, in any case, with pieces of the list cut anywhere.

import { expect, test } from 'vitest';
import { PathList } from '../../../src/fs/path-list.ts';
import { MAX_FOUND, Ranking } from '../../../src/fs/ranking.ts';
import { fc } from '../../harness/chance.ts';

function listOf(paths: readonly string[], pieceLength = 7): PathList {
  const list = new PathList(1);
  const bytes = Buffer.from(paths.map((path) => `${path}\0`).join(''));
  for (let from = 0; from < bytes.length; from += pieceLength) list.push(0, bytes.subarray(from, from + pieceLength));
  return list;
}

function ranked(paths: readonly string[], query: string) {
  const ranking = new Ranking(listOf(paths), query);
  while (!ranking.isDone) ranking.advance();
  return ranking.found(['/root']);
}

test('paths come whole, with the folders they lie in, each once', () => {
  const list = listOf(['a/b/猫.ts', 'a/b/d.ts', 'e'], 1);
  expect(list.paths).toEqual(['a/b', 'a', 'a/b/猫.ts', 'a/b/d.ts', 'e']);
  expect(list.paths.map((_, index) => list.isFolder(index))).toEqual([true, true, false, false, false]);
});

test('a name that is the query, then names that hold it, then paths', () => {
  const found = ranked(['main/x.ts', 'src/my-main.ts', 'src/main', 'src/maxim/ain.ts'], 'main');
  expect(found.map(({ path }) => path)).toEqual([
    'main',
    'src/main',
    'src/my-main.ts',
    'main/x.ts',
    'src/maxim/ain.ts',
  ]);
});

test('no more than the best are given', () => {
  const found = ranked(
    Array.from({ length: 5_000 }, (_, index) => `f/${index}.ts`),
    'ts',
  );
  expect(found).toHaveLength(MAX_FOUND);
});

test('places are those of the letters, whatever alphabet goes before them', () => {
  const characters = fc.constantFrom('a', 'b', 'é', '猫', '🦊', '-', 'B');
  const name = fc.array(characters, { minLength: 1, maxLength: 8 }).map((each) => each.join(''));
  fc.assert(
    fc.property(name, name, fc.constantFrom('a', 'ab', 'ba', 'b-'), (folder, file, query) => {
      for (const { path, indices } of ranked([`${folder}/${file}`], query)) {
        const letters = [...path];
        expect(indices!.map((place) => letters[place]!.toLowerCase()).join('')).toBe(query);
      }
    }),
  );
});

test('leaving out what cannot be among the best changes nothing', () => {
  // So many that the last paths are looked at when others are known already.
  const others = Array.from({ length: 4_000 }, (_, index) => `zz/${index}`);
  const part = fc.constantFrom('ab', 'aXb', 'a-b', 'ba', 'abab', 'Ab', 'b_a', 'xaby');
  const path = fc.array(part, { minLength: 1, maxLength: 3 }).map((each) => each.join('/'));
  fc.assert(
    fc.property(
      fc.uniqueArray(path, { minLength: 80, maxLength: 100 }),
      fc.constantFrom('ab', 'a', 'ba'),
      (paths, query) => {
        const alone = paths.flatMap((each) => ranked([each], query)).filter(({ match_type }) => match_type === 'file');
        const best = alone.toSorted((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1)).slice(0, 10);
        const found = ranked([...paths.slice(0, 60), ...others, ...paths.slice(60)], query);
        expect(found.filter(({ match_type }) => match_type === 'file').slice(0, 10)).toEqual(best);
      },
    ),
    { numRuns: 30 },
  );
});
