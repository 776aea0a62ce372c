// One stream up to its cap: which piece is the last, what is thrown away, and how texts are made to fit.

import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { deferred } from '../../../src/base/signals.ts';
import { BUFFERED_CAP, BufferedOutput } from '../../../src/process/buffered.ts';
import { Capture, Kept } from '../../../src/process/capture.ts';

const never = (error: unknown): void => {
  throw error;
};

async function told(
  cap: number,
  pieces: readonly string[],
): Promise<{ pieces: [string, boolean][]; reached: boolean }> {
  const stream = new PassThrough();
  const seen: [string, boolean][] = [];
  const capture = new Capture(
    stream,
    cap,
    (piece, capReached) => void seen.push([piece.toString(), capReached]),
    never,
  );
  for (const piece of pieces) {
    stream.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  stream.end();
  await capture.ended;
  await capture.finish();
  return { pieces: seen, reached: capture.capReached };
}

describe('a stream', () => {
  it('is told whole below its cap', async () => {
    expect(await told(10, ['abc', 'def'])).toEqual({
      pieces: [
        ['abc', false],
        ['def', false],
      ],
      reached: false,
    });
  });

  it('is cut at its cap, and the flag is on the last piece only', async () => {
    expect(await told(5, ['abc', 'def', 'ghi'])).toEqual({
      pieces: [
        ['abc', false],
        ['de', true],
      ],
      reached: true,
    });
    expect(await told(3, ['abc'])).toEqual({ pieces: [['abc', true]], reached: true });
  });

  it('of which nothing is wanted is told once, if there is anything', async () => {
    expect(await told(0, ['abc', 'def'])).toEqual({ pieces: [['', true]], reached: true });
    expect(await told(0, [])).toEqual({ pieces: [], reached: false });
  });

  it('waits for its consumer, and its end waits too', async () => {
    const stream = new PassThrough();
    const room = deferred();
    const seen: string[] = [];
    const onPiece = (piece: Buffer): Promise<void> => {
      seen.push(piece.toString());
      return room.promise;
    };
    const capture = new Capture(stream, 100, onPiece, never);
    stream.write('a');
    await new Promise((resolve) => setImmediate(resolve));
    stream.write('b');
    stream.end();
    capture.empty();
    await capture.ended;
    let isFinished = false;
    const finished = capture.finish().then(() => {
      isFinished = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect([seen, isFinished]).toEqual([['a'], false]);
    room.resolve();
    await finished;
    expect(seen).toEqual(['a', 'b']);
  });

  it('stops when its consumer fails, and says so once', async () => {
    const stream = new PassThrough();
    const failure = deferred<unknown>();
    const fail = (): void => {
      throw new Error('no');
    };
    const capture = new Capture(stream, 100, fail, (error) => failure.resolve(error));
    stream.write('a');
    expect(await failure.promise).toEqual(new Error('no'));
    stream.end('b');
    await capture.ended;
    await capture.finish();
  });
});

describe('kept output', () => {
  it('is the same however it comes', () => {
    const text = `${'x'.repeat(3_000)}\u732b\u{1f98a}`;
    const kept = new Kept();
    for (const byte of Buffer.from(text)) kept.push(Buffer.from([byte]));
    expect([kept.text(), kept.length]).toEqual([text, Buffer.byteLength(text)]);
  });

  it('shows what is no text as one sign each', () => {
    const kept = new Kept();
    kept.push(Buffer.from([0xff, 0x6f, 0xf0, 0x9f]));
    expect(kept.text()).toBe('\ufffdo\ufffd');
  });
});

describe('output in one piece', () => {
  const capReached = { stdout: false, stderr: false };

  it('fits into one message, standard output first, and says what was cut', () => {
    const output = new BufferedOutput();
    void output.keeper('stdout')(Buffer.alloc(BUFFERED_CAP / 2, '"'), false);
    void output.keeper('stderr')(Buffer.from('x'), false);
    const cut = output.told({ capReached });
    expect(cut.capReached).toEqual({ stdout: true, stderr: false });
    expect((cut.stdout.ascii ?? '').length + (cut.stderr.ascii ?? '').length).toBeLessThanOrEqual(BUFFERED_CAP + 3);
    expect(JSON.parse(cut.stdout.ascii ?? '')).toBe(cut.stdout.text);
  });

  it('is whole when it fits', () => {
    const output = new BufferedOutput();
    void output.keeper('stderr')(Buffer.from('a\n"'), false);
    const { stdout, stderr } = output.told({ capReached });
    expect([stdout.text, stderr.text, stderr.ascii]).toEqual(['', 'a\n"', '"a\\n\\""']);
  });

  it('has no JSON of its own when that is not ASCII', () => {
    const output = new BufferedOutput();
    void output.keeper('stdout')(Buffer.from('\u00e9'), false);
    expect(output.told({ capReached }).stdout.ascii).toBeUndefined();
    expect(output.result({ exitCode: 0, capReached })).toEqual({ exitCode: 0, stdout: '\u00e9', stderr: '' });
  });
});
