// Canonical JSON: what digests and hash chains are made of, so its form may never change.

import { describe, expect, it } from 'vitest';
import { canonicalJson, fingerprint } from '../../../src/base/canonical.ts';
import { fc } from '../../harness/chance.ts';

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (value === null || typeof value !== 'object') return value;
  const members = Object.entries(value).map(([name, member]) => [name, reversed(member)] as const);
  return Object.fromEntries(members.reverse());
}

describe('canonical JSON', () => {
  it('is JSON of the same value, whatever the order of the members', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(reversed(value))).toBe(text);
      }),
    );
  });

  it('has the members in the order of their UTF-16 units, also those that look like numbers', () => {
    expect(canonicalJson({ b: 1, a: [{ 10: 'ten', 9: 'nine' }], é: 2, B: null, '"': '\u2028' })).toBe(
      '{"\\"":"\u2028","B":null,"a":[{"10":"ten","9":"nine"}],"b":1,"é":2}',
    );
  });

  it('leaves out what is undefined, and takes in none for it in a list', () => {
    expect(canonicalJson({ a: undefined, b: [undefined, 1], c: {} })).toBe('{"b":[null,1],"c":{}}');
    expect(canonicalJson(undefined)).toBe('null');
  });

  it('has the digests that it always had', () => {
    expect(fingerprint({ b: [1, 'two', null], a: { y: true, x: -0.5 } })).toBe(
      'ae5956dbe4ebb5c31dbcd9fe0a00acf6d5ba1711c7590acbea72a4e760a039ad',
    );
  });
});
