// What is written to a process: in order, no faster than the process takes it, and through a pipe or a terminal.

import type { Writable } from 'node:stream';
import { AppError } from '../base/errors.ts';
import type { Terminal } from '../children/terminal.ts';

export interface ProcessInput {
  /** Settles when the process's side has taken the bytes; rejects as *conflict* when it never will, and stops when `signal` aborts. */
  write(bytes: Buffer, signal?: AbortSignal): Promise<void>;
  /** Ends the input behind what was written. */
  end(): Promise<void>;
}

export function pipeInput(stdin: Writable): ProcessInput {
  return {
    write: (bytes) =>
      new Promise((resolve, reject) => {
        stdin.write(bytes, (error) => {
          if (error) reject(new AppError('conflict', 'the process no longer reads its stdin', {}, { cause: error }));
          else resolve();
        });
      }),
    end: async () => void stdin.end(),
  };
}

/** A line end, so that a line that was begun is not lost, and the character that means the end of input. */
const END_OF_INPUT = Buffer.from('\n\x04');

/** A terminal cannot be closed from one side: its program is told the end as by somebody at a keyboard. */
export function terminalInput(terminal: Terminal): ProcessInput {
  return {
    write: (bytes, signal) => terminal.write(bytes, signal),
    end: () => terminal.write(END_OF_INPUT),
  };
}
