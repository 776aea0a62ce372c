// Rows in memory and in LMDB have the same order, pages and transactions.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { below, beyond, type Key, type KeyRange } from '../../../src/history/keys.ts';
import { LmdbRows } from '../../../src/history/lmdb-rows.ts';
import { MemoryRows } from '../../../src/history/memory-rows.ts';
import type { Row, Rows } from '../../../src/history/rows.ts';
import { fc } from '../../harness/chance.ts';

const element = fc.oneof(
  fc.integer({ min: 0, max: 70_000 }),
  fc.constantFrom(0, 255, 256, 1_753_000_000_000, Number.MAX_SAFE_INTEGER),
  fc.string({ maxLength: 6, unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) }),
);
const key: fc.Arbitrary<Key> = fc.array(element, { minLength: 1, maxLength: 4 }).map((rest) => ['t', ...rest]);
const command = fc.oneof(
  { weight: 6, arbitrary: fc.record({ put: key, text: fc.string({ minLength: 1 }) }) },
  { weight: 1, arbitrary: fc.record({ remove: key }) },
);
const scan = fc.record({
  from: key,
  to: key,
  isBelow: fc.boolean(),
  reverse: fc.boolean(),
  limit: fc.integer({ min: 1, max: 20 }),
  characters: fc.integer({ min: 1, max: 60 }),
});

const plain = ({ key, text, isDamaged }: Row) => ({ key, text, isDamaged });

/** Takes over what a transfer reads, changed in every other row. */
async function transferred(rows: Rows, from: Key, to: Key, range: KeyRange): Promise<void> {
  const transfer = rows.transfer(from, to);
  let isChanged = false;
  for (let rest = range; ; ) {
    const batch = await transfer.read(rest);
    if (batch.length === 0) return;
    expect(batch.isDamaged).toBe(false);
    for (let index = 0; index < batch.length; index += 1) {
      expect(String(batch.text(index))).toBe(rows.get(batch.key(index)));
      if (isChanged) {
        batch.text(index)[0] = 0x21;
        batch.changed(index);
      }
      isChanged = !isChanged;
    }
    await rows.write(() => {
      for (let index = 0; index < batch.length; index += 1) batch.put(index);
    });
    rest = beyond(rest, batch.key(batch.length - 1), false);
  }
}

const id = fc.oneof(
  fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)), minLength: 1 }),
  fc.constantFrom('i', 'i'.repeat(63), 'i'.repeat(64), 'i'.repeat(65), 'i'.repeat(128)),
);
const texts = fc.array(
  fc.tuple(
    fc.array(element, { minLength: 1, maxLength: 3 }),
    fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => text.charCodeAt(0) < 0x7f),
      fc.constantFrom('a織'.repeat(3000), `b${'機'.repeat(400_000)}`),
    ),
  ),
  { minLength: 1, maxLength: 30 },
);

it('rows go from below one key to below another, whatever their neighbours are', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'heddle-rows-'));
  const both: Rows[] = [new MemoryRows(), new LmdbRows(directory)];
  try {
    await fc.assert(
      fc.asyncProperty(id, id, texts, fc.tuple(element, element), async (from, to, written, [first, end]) => {
        fc.pre(from !== to);
        const [source, target]: [Key, Key] = [
          ['t', 't', from],
          ['t', 't', to],
        ];
        const results: Row[][] = [];
        for (const rows of both) {
          await rows.write(() => {
            for (const { key } of rows.scan({ ...below(['t']), limit: Number.POSITIVE_INFINITY })) rows.remove(key);
            for (const neighbour of [from, `${from}a`, from.slice(0, -1)].filter((each) => each !== to))
              for (const [rest, text] of written) rows.put(['t', 't', neighbour, ...rest], text);
          });
          await transferred(rows, source, target, below(source));
          const some = { from: [...source, first], to: [...source, end] };
          await transferred(rows, source, ['t', 'some'], some);
          results.push(rows.scan({ ...below(['t']), limit: Number.POSITIVE_INFINITY }));
          const keys = (key: Key) =>
            rows.scan({ ...below(key), limit: Number.POSITIVE_INFINITY }).map((row) => row.key.slice(key.length));
          expect(keys(target)).toEqual(keys(source));
        }
        expect(results[1]?.map(plain)).toEqual(results[0]?.map(plain));
      }),
      { numRuns: 20 },
    );
  } finally {
    for (const rows of both) await rows.close();
    await rm(directory, { recursive: true });
  }
});

it('order, scans and rollback agree', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'heddle-rows-'));
  const both: Rows[] = [new MemoryRows(), new LmdbRows(directory)];
  const apply = (rows: Rows, commands: readonly unknown[]) => {
    for (const each of commands as { put?: Key; text: string; remove?: Key }[])
      if (each.put) rows.put(each.put, each.text);
      else rows.remove(each.remove as Key);
  };
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.array(command),
        fc.array(command),
        fc.array(scan, { minLength: 5 }),
        async (kept, undone, scans) => {
          for (const rows of both) {
            await rows.write(() => apply(rows, kept));
            const failing = rows.write(() => {
              apply(rows, undone);
              throw new RangeError('no');
            });
            await expect(failing).rejects.toThrow(RangeError);
          }
          for (const { from, to, isBelow, ...rest } of scans) {
            const range = isBelow ? below(from) : { from, to };
            const [memory, lmdb] = both.map((rows) => rows.scan({ ...range, ...rest }));
            expect(lmdb?.map(plain)).toEqual(memory?.map(plain));
          }
          for (const { from } of scans) expect(both[1]?.get(from)).toBe(both[0]?.get(from));
        },
      ),
      { numRuns: 60 },
    );
  } finally {
    for (const rows of both) await rows.close();
    await rm(directory, { recursive: true });
  }
});
