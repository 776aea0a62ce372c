// The chain's links, and the text that they cover.

import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { firstLink, LINK_LENGTH, linkOf, nextLink, sealed, textOf } from '../../../src/history/chain.ts';
import { BLOB_THRESHOLD, decode, encode, fill } from '../../../src/history/records.ts';

describe('the chain', () => {
  it('links each record to the one before', () => {
    const first = nextLink(firstLink('t'), '{"a":1}');
    expect(first).toBe(
      createHash('sha256')
        .update(`${firstLink('t')}{"a":1}`)
        .digest('base64url'),
    );
    expect(first).toHaveLength(LINK_LENGTH);
    expect(nextLink(first, 'x')).not.toBe(nextLink(firstLink('t'), 'x'));
    expect(firstLink('t')).not.toBe(firstLink('u'));
  });

  it('keeps link and text of a record apart', () => {
    const record = sealed(firstLink('t'), '{"a":"ä"}');
    expect([linkOf(record), textOf(record)]).toEqual([firstLink('t'), '{"a":"ä"}']);
  });
});

describe('records', () => {
  it('are the same text whatever the order of members', () => {
    expect(encode({ b: 1, a: { d: 1, c: 2 } }).text).toBe(encode({ a: { c: 2, d: 1 }, b: 1 }).text);
  });

  it('lose strings over the threshold in bytes, and get them back where they were', () => {
    const long = '€'.repeat(BLOB_THRESHOLD / 3 + 1);
    const short = 'x'.repeat(BLOB_THRESHOLD);
    const record = { list: [{ long, short }, long], long, text: 'x' };
    const { text, refs, contents } = encode(record);
    expect([...contents.values()]).toEqual([long]);
    expect(refs.map(({ path }) => path)).toEqual([['list', 0, 'long'], ['list', 1], ['long']]);
    expect(text).not.toContain('€');
    const decoded = decode<object>(text);
    for (const { path, hash } of decoded.refs) fill(decoded.value, path, contents.get(hash) as string);
    expect(decoded.value).toEqual(record);
  });
});
