// The words of a batch come sorted, each once, however alike they are and of whatever script.

import { expect, it } from 'vitest';
import { inOrder, type PlacedWord } from '../../../src/history/word-order.ts';

it('gives all words in the order of their text', () => {
  const alike = Array.from({ length: 3000 }, (_, index) => `warp-and-weft-${(index * 7919) % 3001}`);
  const others = Array.from({ length: 2000 }, (_, index) =>
    String.fromCharCode(0x4e00 + ((index * 37) % 2003), 0x5206),
  );
  const nested = Array.from({ length: 700 }, (_, index) => 'z'.repeat(index + 1));
  const words = [...alike, ...nested, ...others];
  const placed = words.map((word, index): PlacedWord => [word, [index]]);
  const given = [...inOrder(placed)];
  expect(given.map(([word]) => word)).toEqual(words.toSorted((a, b) => (a < b ? -1 : 1)));
  for (const [word, [index]] of given) expect(words[index as number]).toBe(word);
});
