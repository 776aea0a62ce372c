// The bound, the counts and the characters of collected output.

import { describe, expect, it } from 'vitest';
import { OutputCollector, TextDeltas } from '../../../src/process/output.ts';
import { fc } from '../../harness/chance.ts';

function collect(
  chunks: readonly Buffer[],
  cap?: number,
): { readonly collector: OutputCollector; readonly deltas: string } {
  const collector = new OutputCollector(cap);
  const text = new TextDeltas();
  for (const chunk of chunks) collector.push(chunk);
  const deltas = chunks.map((chunk) => text.push(chunk)).join('') + text.end();
  return { collector, deltas };
}

const hex = (text: string) => Buffer.from(text, 'hex');

describe('text of output that comes in pieces', () => {
  it('holds a character that was cut until its rest is there', () => {
    const text = new TextDeltas();
    expect([text.push(hex('61e7')), text.push(hex('8cab62')), text.end()]).toEqual(['a', '\u732bb', '']);
    expect(collect([hex('61e7'), hex('8cab62')]).collector.text()).toBe('a\u732bb');
  });

  it.each([
    ['a byte that begins nothing', ['ff'], '\ufffd'],
    ['a character that never ends', ['f09f'], '\ufffd'],
    ['the same in two pieces', ['f0', '9f'], '\ufffd'],
    ['one between letters', ['61e7', '62'], 'a\ufffdb'],
  ])('has exactly one replacement for %s', (_what, pieces, expected) => {
    const { collector, deltas } = collect(pieces.map(hex));
    expect([deltas, collector.text()]).toEqual([expected, expected]);
  });

  it('keeps a byte order mark', () => {
    expect(collect([hex('efbbbf61')]).deltas).toBe('\ufeffa');
  });

  it('is the same however it is cut', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.array(fc.nat(200)), (bytes, cuts) => {
        const whole = Buffer.from(bytes);
        const edges = [0, ...cuts.map((cut) => Math.min(cut, whole.length)).sort((a, b) => a - b), whole.length];
        const { collector, deltas } = collect(edges.slice(1).map((edge, index) => whole.subarray(edges[index], edge)));
        const expected = new TextDecoder('utf-8', { ignoreBOM: true }).decode(whole);
        expect([deltas, collector.text(), collector.totalBytes]).toEqual([expected, expected, whole.length]);
      }),
    );
  });
});

describe('the bound', () => {
  it('keeps all up to the cap, and head, marker and tail beyond it', () => {
    const { collector } = collect(
      [Buffer.from('a'.repeat(600)), Buffer.from('b'.repeat(400)), Buffer.from('c'.repeat(1_000))],
      1_000,
    );
    const kept = 1_000 - 64;
    expect(collector.text()).toBe(`${'a'.repeat(kept / 2)}\n[${2_000 - kept} bytes left out]\n${'c'.repeat(kept / 2)}`);
    expect([collector.totalBytes, collector.droppedBytes, collector.isCapped]).toEqual([2_000, 2_000 - kept, true]);
  });

  it('never cuts a character, never exceeds the cap, and accounts for every byte', () => {
    const sign = fc.constantFrom('a', '\u00e4', '\u732b', '\u{1f600}');
    fc.assert(
      fc.property(
        fc.array(fc.array(sign, { maxLength: 40 }), { maxLength: 20 }),
        fc.integer({ min: 80, max: 400 }),
        (pieces, cap) => {
          const chunks = pieces.map((piece) => Buffer.from(piece.join('')));
          const { collector } = collect(chunks, cap);
          const text = collector.text();
          const total = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
          expect(text).not.toContain('\ufffd');
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(Math.max(cap, total > cap ? 0 : total));
          expect(collector.totalBytes).toBe(total);
          const marker = /\n\[(\d+) bytes left out\]\n/.exec(text);
          const left = marker
            ? Buffer.byteLength(text) - Buffer.byteLength(marker[0]) + Number(marker[1])
            : Buffer.byteLength(text);
          expect(left).toBe(total);
        },
      ),
    );
  });
});
