// Rows in memory and in LMDB have the same order, pages and transactions.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { below, type Key } from '../../../src/history/keys.ts';
import { LmdbRows } from '../../../src/history/lmdb-rows.ts';
import { MemoryRows } from '../../../src/history/memory-rows.ts';
import type { Row, Rows } from '../../../src/history/rows.ts';

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
            await both[1]?.write(() => {
              for (const row of lmdb ?? []) both[1]?.copy(['copied', ...row.key], row);
            });
            for (const { key, text } of lmdb ?? []) expect(both[1]?.get(['copied', ...key])).toBe(text);
            await both[1]?.write(() => {
              for (const { key } of lmdb ?? []) both[1]?.remove(['copied', ...key]);
            });
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
