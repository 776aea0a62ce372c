// Output that is told in one piece at the end: what is kept of it, and what of that fits into one message.

import { FRAME_LIMIT } from '../transports/connection.ts';
import type { OnPiece } from './capture.ts';
import { Kept } from './capture.ts';
import type { OutputStream, ProcessEnd } from './live-process.ts';

/** Left for everything in a message that is not output. */
const ROOM = 64 * 1024;
/** A control character takes so many bytes in JSON. */
const WORST_GROWTH = 6;

export interface Told {
  readonly stdout: string;
  readonly stdoutCapReached: boolean;
  readonly stderr: string;
  readonly stderrCapReached: boolean;
}

/** The most that is worth keeping of each stream. */
export const BUFFERED_CAP: number = FRAME_LIMIT - ROOM;

export class BufferedOutput {
  readonly #kept: Record<OutputStream, Kept> = { stdout: new Kept(), stderr: new Kept() };

  keeper(stream: OutputStream): OnPiece {
    return (piece) => this.#kept[stream].push(piece);
  }

  told({ capReached }: Pick<ProcessEnd, 'capReached'>): Told {
    const texts = { stdout: this.#kept.stdout.text(), stderr: this.#kept.stderr.text() };
    const bytes = this.#kept.stdout.length + this.#kept.stderr.length;
    const stdout = bytes * WORST_GROWTH <= BUFFERED_CAP ? texts.stdout : fitting(texts.stdout, BUFFERED_CAP);
    const rest = BUFFERED_CAP - (stdout === texts.stdout ? sizeOf(stdout) : BUFFERED_CAP);
    const stderr = bytes * WORST_GROWTH <= BUFFERED_CAP ? texts.stderr : fitting(texts.stderr, rest);
    return {
      stdout,
      stdoutCapReached: capReached.stdout || stdout.length < texts.stdout.length,
      stderr,
      stderrCapReached: capReached.stderr || stderr.length < texts.stderr.length,
    };
  }
}

/** The beginning of a text that takes at most `room` bytes in JSON. */
function fitting(text: string, room: number): string {
  let kept = text;
  for (let size = sizeOf(kept); size > room; size = sizeOf(kept)) {
    kept = kept.slice(0, Math.floor(Math.min(kept.length * (room / size), kept.length - 1)));
  }
  return kept;
}

const sizeOf = (text: string): number => (text === '' ? 0 : Buffer.byteLength(JSON.stringify(text)));
