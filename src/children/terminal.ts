// A pseudo-terminal: what a program prints on it as a stream without loss, what is typed into it, and its size.

import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { ReadStream } from 'node:tty';
import { type Clock, sleep, systemClock } from '../base/clock.ts';
import { AppError, codeOf, messageOf } from '../base/errors.ts';
import { once } from '../base/lazy.ts';
import { throwIfAborted } from '../base/signals.ts';

export interface TerminalSize {
  readonly rows: number;
  readonly cols: number;
}

/** The part of the native library that is used; its own way of starting programs reports the end too late. */
interface NativeTerminals {
  open(cols: number, rows: number): { readonly master: number; readonly slave: number; readonly pty: string };
  resize(master: number, cols: number, rows: number): void;
}

const native = once((): NativeTerminals => {
  try {
    const load = createRequire(import.meta.url)('@lydell/node-pty/requireBinary.js') as {
      requireBinary(name: string): NativeTerminals;
    };
    return load.requireBinary('pty.node');
  } catch (error) {
    throw new AppError('unavailable', `terminals are not available here: ${messageOf(error)}`, {}, { cause: error });
  }
});

/** Bytes that are read at most for what a program had printed when it ended; more than a terminal can hold. */
const REST_LIMIT = 1024 * 1024;
const PIECE = 64 * 1024;

/**
 * The other end of the terminal is held open until `finish`: else the system may throw away what was printed last. The
 * descriptor of this end is passed on to programs that are started meanwhile, unless whoever starts them covers it: see `master`.
 */
export class Terminal {
  /** Our end. It may be inherited, so a start has to put something else in its place. */
  readonly master: number;
  /** The end for the program. */
  readonly slave: number;
  /** What is printed. Ends when nobody holds the other end any more; to be destroyed by whoever reads it. */
  readonly output: Readable;
  readonly #output: TerminalOutput;
  readonly #clock: Clock;
  #isFinished = false;
  #writing: Promise<void> = Promise.resolve();

  /** Throws as *unavailable* when the system has no terminal to give. `closed` is called once this end is closed. */
  constructor(size: TerminalSize, closed: () => void, clock: Clock = systemClock) {
    const opened = openPair(size);
    this.master = opened.master;
    this.slave = opened.slave;
    this.#clock = clock;
    this.#output = new TerminalOutput(opened.master);
    this.#output.once('close', closed);
    this.output = this.#output;
  }

  /**
   * Types bytes into the terminal, in order; settles when it took all of them. Rejects as *conflict* when it is closed, and as
   * *cancelled* when the signal aborts: what it has not taken by then is not typed.
   */
  write(bytes: Buffer, signal?: AbortSignal): Promise<void> {
    const writing = this.#writing.then(() => this.#write(bytes, signal));
    this.#writing = writing.catch(() => {});
    return writing;
  }

  /** Throws as *conflict* when it is closed. */
  resize({ rows, cols }: TerminalSize): void {
    this.#requireOpen();
    native().resize(this.master, cols, rows);
  }

  /** To be called right after the program's exit: takes over what it had printed, and lets the other end go. */
  finish(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#output.takeRest();
    closeSync(this.slave);
  }

  /** For a program that could not be started. */
  discard(): void {
    this.finish();
    this.#output.destroy();
  }

  async #write(bytes: Buffer, signal: AbortSignal | undefined): Promise<void> {
    let pause = 2;
    for (let rest = bytes; rest.length > 0; ) {
      if (signal) throwIfAborted(signal);
      this.#requireOpen();
      const taken = this.#writeSome(rest);
      rest = rest.subarray(taken);
      if (rest.length === 0) return;
      // A terminal cannot be waited for: it is tried again.
      pause = taken > 0 ? 2 : Math.min(pause * 2, 50);
      await sleep(this.#clock, pause, signal);
    }
  }

  /** Never in another thread: the descriptor could be closed, and be somebody else's, before the bytes are written. */
  #writeSome(bytes: Buffer): number {
    try {
      return writeSync(this.master, bytes);
    } catch (error) {
      if (codeOf(error) === 'EAGAIN') return 0;
      throw new AppError('conflict', 'the terminal is closed', {}, { cause: error });
    }
  }

  #requireOpen(): void {
    if (this.#isFinished || this.#output.destroyed) throw new AppError('conflict', 'the terminal is closed');
  }
}

function openPair({ rows, cols }: TerminalSize): { readonly master: number; readonly slave: number } {
  const { open } = native();
  try {
    const { master, slave, pty } = open(cols, rows);
    try {
      // Opened again, since what the library opened would be inherited.
      return { master, slave: openSync(pty, constants.O_RDWR | constants.O_NOCTTY) };
    } catch (error) {
      closeSync(master);
      throw error;
    } finally {
      closeSync(slave);
    }
  } catch (error) {
    throw new AppError('unavailable', `no terminal to be had: ${messageOf(error)}`, {}, { cause: error });
  }
}

class TerminalOutput extends Readable {
  readonly #master: number;
  readonly #source: ReadStream;
  #hasEnded = false;

  constructor(master: number) {
    super({ highWaterMark: PIECE });
    this.#master = master;
    this.#source = new ReadStream(master);
    this.#source.pause();
    this.#source.on('data', (chunk: Buffer) => {
      if (!this.#hasEnded && !this.push(chunk)) this.#source.pause();
    });
    // That nobody holds the other end any more is told as an error.
    this.#source.on('error', () => this.#end());
    this.#source.on('end', () => this.#end());
    this.on('error', () => {});
  }

  /** What has been printed so far is all there, since the kernel brings up the rest before it says that there is nothing. */
  takeRest(): void {
    if (this.#hasEnded || this.destroyed) return;
    while (this.#source.read() !== null); // emits what it holds as data
    for (let total = 0; total < REST_LIMIT; ) {
      const piece = Buffer.allocUnsafe(PIECE);
      const length = readQuietly(this.#master, piece);
      if (length === 0) return;
      this.push(piece.subarray(0, length));
      total += length;
    }
  }

  override _read(): void {
    if (!this.#hasEnded) this.#source.resume();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#hasEnded = true;
    const { closed } = this.#source;
    if (closed) done(error);
    else this.#source.once('close', () => done(error)).destroy();
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.push(null);
  }
}

/** Zero when there is nothing, now or any more. */
function readQuietly(descriptor: number, into: Buffer): number {
  try {
    return readSync(descriptor, into);
  } catch {
    return 0;
  }
}
