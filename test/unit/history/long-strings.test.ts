// Long strings of records: taken out and put back, whatever they hold and wherever they lie.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openBlobs } from '../../../src/history/blobs.ts';
import { BLOB_THRESHOLD, decode, encode, encodeRow, fill } from '../../../src/history/records.ts';

const ASTRAL = '\u{1f600}';
const PIECE = 32 * 1024;

test.each([
  ['of one byte a character', 'a\n"'.repeat(50_000)],
  ['of three bytes a character', '字'.repeat(100_000)],
  ['of pairs that pieces would cut', `x${ASTRAL.repeat(100_000)}`],
  ['of a whole number of pieces', 'y'.repeat(4 * PIECE)],
  ['with a pair at the end of a piece', `${'z'.repeat(4 * PIECE - 1)}${ASTRAL}`],
])('a file holds a text %s', async (_, text) => {
  const directory = mkdtempSync(join(tmpdir(), 'long-strings-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const blobs = openBlobs(directory);
  const { refs, contents } = encode({ list: [{ text }] });
  expect(refs).toMatchObject([{ path: ['list', 0, 'text'], bytes: Buffer.byteLength(text) }]);
  await blobs.write(contents);
  const { hash } = refs[0]!;
  expect((await blobs.read(hash)) === text).toBe(true);
  // The same again is there already.
  await blobs.write(contents);
  expect(blobs.readSync(hash) === text).toBe(true);
});

test('a record is whole again when its strings have been put back', () => {
  const record = { b: ['short', 'l'.repeat(BLOB_THRESHOLD + 1)], a: { deep: { text: '字'.repeat(BLOB_THRESHOLD) } } };
  for (const write of [encode, encodeRow]) {
    const { text, contents } = write(record);
    expect(text.length).toBeLessThan(1_000);
    const { value, refs } = decode<typeof record>(text);
    for (const { path, hash } of refs) fill(value, path, contents.get(hash)!);
    expect(value).toEqual(record);
  }
});

test('what need not or cannot be taken out stays in the record', () => {
  const records = [
    { text: 'l'.repeat(BLOB_THRESHOLD) },
    { text: `${'l'.repeat(BLOB_THRESHOLD)}\ud800` },
    { many: Array.from({ length: 100 }, () => 's'.repeat(2_000)) },
    { none: null, off: false, count: 1, list: [] },
  ];
  for (const record of records) {
    const { text, refs, contents } = encode(record);
    expect(JSON.parse(text)).toEqual(record);
    expect([refs.length, contents.size]).toEqual([0, 0]);
  }
});
