// Newline framing against a model that sees the whole input at once: random lines, limits and cuts.

import { expect, it } from 'vitest';
import type { BadFrame } from '../../src/transports/connection.ts';
import { LineReader } from '../../src/transports/lines.ts';
import { fc } from '../harness/chance.ts';

const LIMIT = 12;

const line = fc.oneof(
  fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 0x0a && byte !== 0x0d))),
  fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => Buffer.from(text.replaceAll(/[\r\n]/g, ''))),
  fc
    .constantFrom('', ' ', '\t ', '{}', '\ufeff{}', '"猫"', 'x'.repeat(LIMIT), 'x'.repeat(LIMIT + 1))
    .map((text) => Buffer.from(text)),
);

type Kind = string | BadFrame['bad'];

/** What a line is worth, decided with everything at hand; undefined: nothing. */
function judge(bytes: Buffer, isFirst: boolean): Kind | undefined {
  if (bytes.length > LIMIT) return 'tooLarge';
  const body = isFirst && bytes.subarray(0, 3).toString('hex') === 'efbbbf' ? bytes.subarray(3) : bytes;
  if (/^[ \t]*$/.test(body.toString('latin1'))) return undefined;
  try {
    return `=${new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)}`;
  } catch {
    return 'encoding';
  }
}

it('reads the same lines wherever the input is cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ bytes: line, end: fc.constantFrom('\n', '\r\n') }), { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 }),
      (lines, sizes) => {
        const got: Kind[] = [];
        const reader = new LineReader(
          () => LIMIT,
          (frame) => got.push(typeof frame === 'string' ? `=${frame}` : frame.bad),
        );
        const input = Buffer.concat(lines.flatMap(({ bytes, end }) => [bytes, Buffer.from(end)]));
        for (let from = 0, cut = 0; from < input.length; cut += 1) {
          const size = sizes[cut % sizes.length] as number;
          reader.push(input.subarray(from, from + size));
          from += size;
        }
        reader.end();
        const expected = lines
          .map(({ bytes }, index) => judge(bytes, index === 0))
          .filter((kind) => kind !== undefined);
        expect(got).toEqual(expected);
      },
    ),
    { numRuns: 2_000 },
  );
});
