import { describe, expect, it } from 'vitest';
import { packed } from '../../../src/base/packed.ts';

describe('packed texts', () => {
  it('stay what they were, however many follow', () => {
    const texts = Array.from({ length: 3_000 }, (_, index) => `${index} ${'aß字😀\ud800'.repeat(index % 40)}`);
    const bytes = texts.map(packed);
    expect(bytes.map(String)).toEqual(texts.map((text) => Buffer.from(text).toString()));
  });

  it('hold little memory beside their own', () => {
    const bytes = Array.from({ length: 2_000 }, (_, index) => {
      // What comes between them goes at once.
      Buffer.from('x'.repeat(1_000));
      return packed(`${index} ${'x'.repeat(200)}`);
    });
    const held = [...new Set(bytes.map(({ buffer }) => buffer))].reduce((sum, { byteLength }) => sum + byteLength, 0);
    const own = bytes.reduce((sum, { length }) => sum + length, 0);
    expect(held).toBeLessThan(own * 1.5);
  });

  it('may be of any length', () => {
    for (const length of [0, 1, 682, 683, 100_000]) expect(packed('字'.repeat(length)).toString()).toHaveLength(length);
  });
});
