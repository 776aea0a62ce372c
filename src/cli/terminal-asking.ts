// The terminal of a person: one question at a time, and the line that is typed while nothing is asked.

import { createInterface, type Interface } from 'node:readline/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { ReadStream, WriteStream } from 'node:tty';
import { AppError } from '../base/errors.ts';
import { type Deferred, deferred, unlessAborted } from '../base/signals.ts';

export interface Asking {
  /** Resolves with what the person typed; rejects when nothing more will be typed, or on abort. To be called within `apart`. */
  prompt(text: string, signal: AbortSignal): Promise<string>;
  /** Runs `work` with the terminal to itself, beside other such work; it need not wait for a line that is being typed. */
  apart<T>(work: () => Promise<T>): Promise<T>;
  /** Within `apart`, before a question is shown: what has been typed until then, without seeing it, is no answer to it. */
  dropTyped(): Promise<void>;
  /** Of the terminal, in characters. */
  readonly width: number;
}

type Input = Pick<ReadStream, 'readableEnded' | 'destroyed'> &
  Partial<Pick<ReadStream, 'setRawMode'>> &
  NodeJS.ReadableStream;
type Output = Pick<WriteStream, 'columns'> & NodeJS.WritableStream;

interface Typed {
  readonly text: string;
  readonly cursor: number;
}

const DEFAULT_WIDTH = 80;
const NARROWEST = 20;
/** So long what is typed belongs to what was on the terminal before: about the end of a word that somebody is typing. */
const TYPED_BLINDLY_MS = 300;
const CTRL_C = 3;

export class TerminalAsking implements Asking {
  readonly #input: Input;
  readonly #output: Output;
  readonly #seen: () => Promise<void>;
  #apart = 0;
  #alone: Deferred<void> = deferred();
  /** Settles when the line that is being typed, if there is one, is off the terminal. */
  #putAway = async (): Promise<void> => {};

  /** `seen` settles when somebody who types may have seen what is on the terminal now. */
  constructor(input: Input, output: Output, seen: () => Promise<void> = () => wait(TYPED_BLINDLY_MS)) {
    this.#input = input;
    this.#output = output;
    this.#seen = seen;
  }

  get width(): number {
    return Math.max(NARROWEST, Math.min(this.#output.columns || DEFAULT_WIDTH, DEFAULT_WIDTH));
  }

  async apart<T>(work: () => Promise<T>): Promise<T> {
    if (this.#apart++ === 0) this.#alone = deferred();
    try {
      await this.#putAway();
      return await work();
    } finally {
      if (--this.#apart === 0) this.#alone.resolve();
    }
  }

  async dropTyped(): Promise<void> {
    const input = this.#input;
    if (input.readableEnded || input.destroyed) return;
    const drop = (typed: Buffer | string) => {
      if (Buffer.from(typed as string).includes(CTRL_C)) process.emit('SIGINT');
    };
    // The kernel gives lines as a whole; what is typed of one would come with the answer.
    input.setRawMode?.(true);
    input.on('data', drop);
    input.resume();
    try {
      await this.#seen();
    } finally {
      input.off('data', drop);
      input.pause();
      input.setRawMode?.(false);
    }
  }

  prompt(text: string, signal: AbortSignal): Promise<string> {
    return this.#read(text, signal);
  }

  /**
   * The line that a person types of their own accord. Work that begins meanwhile puts it away, and gives it back as it was when
   * all such work is over. Rejects as `prompt` does.
   */
  async line(text: string, signal: AbortSignal): Promise<string> {
    let kept: Typed = { text: '', cursor: 0 };
    for (;;) {
      while (this.#apart > 0) await unlessAborted(this.#alone.promise, signal);
      const away = new AbortController();
      const gone = deferred();
      const begin = (lines: Interface) => {
        giveBack(lines, kept);
        this.#putAway = async () => {
          this.#putAway = () => gone.promise;
          kept = { text: lines.line, cursor: lines.cursor };
          away.abort(); // it also begins a new row behind the line
          return gone.promise;
        };
      };
      try {
        return await this.#read(text, AbortSignal.any([signal, away.signal]), begin);
      } catch (error) {
        if (signal.aborted || !away.signal.aborted) throw error;
      } finally {
        this.#putAway = async () => {};
        gone.resolve();
      }
    }
  }

  async #read(text: string, signal: AbortSignal, begin: (lines: Interface) => void = () => {}): Promise<string> {
    const { readableEnded, destroyed } = this.#input;
    if (readableEnded || destroyed) throw new AppError('cancelled', 'nothing more will be typed');
    const lines = createInterface({ input: this.#input, output: this.#output });
    const over = new AbortController();
    lines.once('close', () => over.abort());
    lines.on('SIGINT', () => process.emit('SIGINT'));
    try {
      const typed = lines.question(text, { signal: AbortSignal.any([signal, over.signal]) });
      begin(lines);
      return await typed;
    } finally {
      lines.close();
    }
  }
}

/** The terminal of this process, or undefined where there is none to ask on. Ctrl-C there is Ctrl-C to the process. */
export function terminalAsking(): TerminalAsking | undefined {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  return new TerminalAsking(process.stdin, process.stderr);
}

/** Puts the cursor where it was, too, on terminals where it can be moved. */
function giveBack(lines: Interface, { text, cursor }: Typed): void {
  if (text !== '') lines.write(text);
  for (let at = lines.cursor; at > cursor; at = lines.cursor) {
    lines.write(null, { name: 'left' });
    if (lines.cursor >= at) return;
  }
}
