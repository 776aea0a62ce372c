// Output that is told in one piece at the end: what is kept of it, and what of that fits into one message.

import type { Result } from '../rpc/declare.ts';
import { ReadyResult } from '../rpc/router.ts';
import { FRAME_LIMIT } from '../transports/connection.ts';
import { Kept, type OnPiece } from './capture.ts';
import type { OutputStream, ProcessEnd } from './live-process.ts';
import type { commandExec } from './methods.ts';

/** Left for everything in a message that is not output. */
const ROOM = 64 * 1024;

/** What standard error always gets of it. */
const ERRORS_ROOM = 1024 * 1024;

/** The most that is worth keeping of each stream. */
export const BUFFERED_CAP: number = FRAME_LIMIT - ROOM;

export interface ToldText {
  readonly text: string;
  /** The same as JSON, if that is ASCII: output is large, and encoding it once is enough. */
  readonly ascii: string | undefined;
}

export interface Told {
  readonly stdout: ToldText;
  readonly stderr: ToldText;
  readonly capReached: ProcessEnd['capReached'];
}

export class BufferedOutput {
  readonly #kept: Record<OutputStream, Kept> = { stdout: new Kept(), stderr: new Kept() };

  keeper(stream: OutputStream): OnPiece {
    return (piece) => this.#kept[stream].push(piece);
  }

  /** Where both together are too much, standard output goes before all but the beginning of standard error. */
  told({ capReached }: Pick<ProcessEnd, 'capReached'>): Told {
    const errors = this.#kept.stderr.text();
    const stdout = fitting(this.#kept.stdout.text(), BUFFERED_CAP - fitting(errors, ERRORS_ROOM).size);
    const stderr = fitting(errors, BUFFERED_CAP - stdout.size);
    return {
      stdout,
      stderr,
      capReached: { stdout: capReached.stdout || stdout.isCut, stderr: capReached.stderr || stderr.isCut },
    };
  }

  /** As the result of command/exec. */
  result({ exitCode, ...end }: Pick<ProcessEnd, 'capReached' | 'exitCode'>): ReadyResult | Result<typeof commandExec> {
    const { stdout, stderr, capReached } = this.told(end);
    const flags = {
      ...(capReached.stdout ? { stdoutCapReached: true as const } : {}),
      ...(capReached.stderr ? { stderrCapReached: true as const } : {}),
    };
    if (stdout.ascii === undefined || stderr.ascii === undefined)
      return { exitCode, stdout: stdout.text, stderr: stderr.text, ...flags };
    const head = JSON.stringify({ exitCode, ...flags }).slice(0, -1);
    return new ReadyResult([`${head},"stdout":`, stdout.ascii, ',"stderr":', stderr.ascii, '}']);
  }
}

interface Fitting extends ToldText {
  /** Bytes of the JSON. */
  readonly size: number;
  readonly isCut: boolean;
}

/** The beginning of a text that takes at most `room` bytes in JSON. */
function fitting(text: string, room: number): Fitting {
  for (let kept = text; ; ) {
    const json = JSON.stringify(kept);
    const size = kept === '' ? 0 : Buffer.byteLength(json);
    const ascii = kept === '' || size === json.length ? json : undefined;
    if (size <= room) return { text: kept, ascii, size, isCut: kept.length < text.length };
    kept = kept.slice(0, Math.floor(Math.min(kept.length * (room / size), kept.length - 1)));
  }
}
