// Newline framing: every way in which bytes may be cut, dirty, too long or unfinished.

import { describe, expect, it } from 'vitest';
import type { BadFrame } from '../../../src/transports/connection.ts';
import { LineReader } from '../../../src/transports/lines.ts';

function reader(limit = 1024) {
  const frames: (string | BadFrame)[] = [];
  const lines = new LineReader(
    () => limit,
    (frame) => frames.push(frame),
  );
  return { frames, lines };
}

const read = (chunks: readonly (string | Buffer)[], limit?: number, end = true) => {
  const { frames, lines } = reader(limit);
  for (const chunk of chunks) lines.push(Buffer.from(chunk));
  if (end) lines.end();
  return frames;
};

describe('LineReader', () => {
  it('keeps a character whole when bytes come one by one', () => {
    const bytes = Buffer.from('{"text":"猫 and 🦊"}\n');
    expect(read([...bytes].map((byte) => Buffer.from([byte])))).toEqual(['{"text":"猫 and 🦊"}']);
  });

  it('gives the same frames wherever the bytes are cut in two', () => {
    const bytes = Buffer.from('\ufeff{"a":"é"}\r\n\n  \t\r\n{"b":2}\n{"c":"猫"}');
    const whole = read([bytes]);
    expect(whole).toEqual(['{"a":"é"}', '{"b":2}', '{"c":"猫"}']);
    for (let cut = 0; cut <= bytes.length; cut += 1)
      expect(read([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(whole);
  });

  it('ends records at LF only and leaves garbage to the reader of the frames', () => {
    expect(read(['{"a":"x\u2028y"}\n{"id":1,"method"\n[]\nnull\n'])).toEqual([
      '{"a":"x\u2028y"}',
      '{"id":1,"method"',
      '[]',
      'null',
    ]);
  });

  it('ignores a byte order mark at the very start only', () => {
    expect(read(['\ufeff{}\n\ufeff{}\n'])).toEqual(['{}', '\ufeff{}']);
  });

  it('reports bytes that are not UTF-8 and goes on with the next line', () => {
    const bad = Buffer.concat([Buffer.from('{"id":7,"x":"'), Buffer.from([0xff]), Buffer.from('"}\n{"id":8}\n')]);
    expect(read([bad])).toEqual([{ bad: 'encoding', start: '{"id":7,"x":"\ufffd"}', limit: 1024 }, '{"id":8}']);
  });

  it('takes a line of exactly the limit, with LF and with CRLF, cut anywhere', () => {
    const line = 'x'.repeat(16);
    for (const end of ['\n', '\r\n'])
      for (let cut = 0; cut <= 17; cut += 1) {
        const text = `${line}${end}`;
        expect(read([text.slice(0, cut), text.slice(cut)], 16)).toEqual([line]);
      }
  });

  it('reports a line above the limit once, with its start, and reads on after its LF (BC-02b)', () => {
    const line = `{"id":42,"pad":"${'y'.repeat(10_000)}"}`;
    const expected = [{ bad: 'tooLarge', start: line.slice(0, 4096), limit: 8192 }, '{"id":43}'];
    for (const size of [100, 4096, 20_000]) {
      const text = `${line}\n{"id":43}\n`;
      const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
        text.slice(i * size, (i + 1) * size),
      );
      expect(read(chunks, 8192)).toEqual(expected);
    }
    expect(read(['x'.repeat(17), '\n{}\n'], 16)).toEqual([{ bad: 'tooLarge', start: 'x'.repeat(17), limit: 16 }, '{}']);
    expect(read([`${'x'.repeat(17)}\r\n{}\n`], 16)).toHaveLength(2);
  });

  it('cuts no character in the start of a line that is too large', () => {
    const [frame] = read([`a${'猫'.repeat(4000)}\n`], 5000);
    expect(frame).toEqual({ bad: 'tooLarge', start: `a${'猫'.repeat(1365)}`, limit: 5000 });
  });

  it('skips without end in bounded memory (BC-02c)', () => {
    const { frames, lines } = reader(1024 * 1024);
    const chunk = Buffer.alloc(64 * 1024, 'a');
    lines.push(chunk);
    const before = process.memoryUsage().arrayBuffers;
    for (let sent = 0; sent < 1024; sent += 1) lines.push(chunk);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
    lines.push(Buffer.from('\n{}\n'));
    expect(frames).toEqual([expect.objectContaining({ bad: 'tooLarge', limit: 1024 * 1024 }), '{}']);
  });

  it('copies a long line a bounded number of times, however small its pieces', () => {
    const { frames, lines } = reader(4 * 1024 * 1024);
    const piece = Buffer.alloc(64, 'a');
    for (let sent = 0; sent < 3 * 1024 * 1024; sent += piece.length) lines.push(piece);
    lines.push(Buffer.from('\n'));
    expect(frames).toEqual(['a'.repeat(3 * 1024 * 1024)]);
  });

  it('runs an unfinished last line only if it is whole JSON', () => {
    expect(read(['{"id":1}\n{"id":2}'])).toEqual(['{"id":1}', '{"id":2}']);
    expect(read(['{"id":1}\n{"id":2,"method":"x'])).toEqual(['{"id":1}']);
    expect(read([Buffer.from([0x22, 0xff, 0x22])])).toEqual([]);
    expect(read(['x'.repeat(40)], 16)).toHaveLength(1);
  });

  it('follows a limit that changes between lines', () => {
    let limit = 4;
    const frames: (string | BadFrame)[] = [];
    const lines = new LineReader(
      () => limit,
      (frame) => frames.push(frame),
    );
    lines.push(Buffer.from('12345\n'));
    limit = 8;
    lines.push(Buffer.from('12345\n'));
    expect(frames).toEqual([expect.objectContaining({ bad: 'tooLarge', limit: 4 }), '12345']);
  });
});
