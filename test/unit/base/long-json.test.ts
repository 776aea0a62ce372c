import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasTextOver, longJson } from '../../../src/base/long-json.ts';

const LONG = 70_000;

describe('JSON with long texts', () => {
  it('is what JSON.stringify makes, byte for byte, wherever the texts lie and whatever is in them', () => {
    const unit = fc.constantFrom('a', '"', '\\', '\n', '\u0000', 'é', '漢', '😀', '\ud83d', '\ude00', '\u2028');
    const seed = fc.string({ unit, minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(seed, seed, fc.integer({ min: 0, max: 3 }), fc.json(), (one, other, shift, rest) => {
        const long = 'x'.repeat(shift) + one.repeat(Math.ceil(LONG / one.length));
        const value = {
          a: JSON.parse(rest),
          item: { text: long, none: undefined, parts: [other, long, null] },
          z: other,
        };
        expect(longJson(value)?.equals(Buffer.from(JSON.stringify(value)))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('is left to others when no text is long', () => {
    expect(longJson({ text: 'x'.repeat(65_536), list: ['short'] })).toBeUndefined();
    expect(longJson({ list: [{ text: 'x'.repeat(65_537) }] })).toBeDefined();
  });
});

it('long texts are found at any depth', () => {
  expect(hasTextOver(2, { a: [null, { b: 'abc' }] })).toBe(true);
  expect(hasTextOver(3, { a: [null, { b: 'abc' }], abcdef: 1 })).toBe(false);
});
