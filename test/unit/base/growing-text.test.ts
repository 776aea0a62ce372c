import { describe, expect, it } from 'vitest';
import { GrowingText } from '../../../src/base/growing-text.ts';

describe('a growing text', () => {
  it('is all its pieces in order, however many come at once', () => {
    const text = new GrowingText();
    const added: string[] = [];
    let number = 0;
    for (const count of [0, 1, 511, 1, 513, 2_000, 3]) {
      const parts = Array.from({ length: count }, () => `${number++} `);
      text.add(parts);
      added.push(...parts);
      expect(text.toString()).toBe(added.join(''));
    }
  });

  it('is empty before the first piece', () => {
    expect(String(new GrowingText())).toBe('');
  });
});
