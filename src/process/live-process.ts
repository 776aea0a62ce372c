// One program of a connection, from its start to the report of its end: all of its output, then exactly one end, then nothing.

import type { Readable } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import type { Closable } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import { type Deferred, deferred } from '../base/signals.ts';
import type { ChildExit } from '../children/launch.ts';
import type { Child, Children, Started, TerminalChild } from '../children/spawn.ts';
import type { TerminalSize } from '../children/terminal.ts';
import type { Doors } from '../sandbox/doors.ts';
import type { SandboxState } from '../sandbox/probe.ts';
import { Capture, type OnPiece } from './capture.ts';
import { type CommandSpec, confined, SandboxReport, startConfined } from './confined.ts';
import { drained } from './drain.ts';
import { type ProcessInput, pipeInput, terminalInput } from './input.ts';
import { codeOfExit } from './run.ts';

export interface ProcessSpec extends CommandSpec {
  /** Set: on a terminal of this size; everything that is printed is standard output then. */
  readonly terminal: TerminalSize | undefined;
  /** Whether bytes may be written to it; else it reads end-of-file at once. A terminal always takes input. */
  readonly takesInput: boolean;
  /** Milliseconds after which it is killed; undefined: never. */
  readonly timeoutMs: number | undefined;
  /** Bytes of each stream that are told. */
  readonly cap: number;
}

export interface ProcessParts {
  readonly children: Children;
  readonly sandbox: () => Promise<SandboxState>;
  readonly doors?: Pick<Doors, 'open'>;
  readonly clock: Clock;
}

export type OutputStream = 'stdout' | 'stderr';

/** Takes the output of both streams. */
export type Outlet = (stream: OutputStream) => OnPiece;

export interface ProcessEnd {
  /** The program's own; 128 + n after signal n; 124 after the time limit. */
  readonly exitCode: number;
  readonly capReached: Readonly<Record<OutputStream, boolean>>;
  /** Something else held the output still when the report was due. */
  readonly drainTimedOut: boolean;
}

interface Running {
  readonly child: Child | TerminalChild;
  readonly spec: ProcessSpec;
  readonly input: ProcessInput | undefined;
}

/** Closing it ends the whole process tree. */
export class LiveProcess implements Closable {
  /** What error texts call it, e.g. `command/exec`. */
  readonly #called: string;
  readonly #parts: ProcessParts;
  readonly #running: Deferred<Running> = deferred();
  readonly #owner = new AbortController();
  readonly #stuck = deferred<ChildExit>();
  #started: Running | undefined;
  #isKilled = false;
  #hasTimedOut = false;
  #isInputClosed = false;
  #input: Promise<void> = Promise.resolve();

  constructor(called: string, parts: ProcessParts) {
    this.#called = called;
    this.#parts = parts;
    this.#running.promise.catch(() => {}); // told by `start`
  }

  /** Rejects as *notFound*, *invalid* or *unavailable* when the program cannot be started. To be called once. */
  async start(spec: ProcessSpec): Promise<void> {
    try {
      const running = await this.#start(spec);
      this.#started = running;
      this.#running.resolve(running);
      if (this.#isKilled) this.#kill();
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  /** It will not be started after all: whoever waits to write to it is told. */
  abandon(): void {
    this.#running.reject(new AppError('conflict', `this ${this.#called} could not be started`));
  }

  /** Hands the output on and settles with the end when all of it has been taken. To be called once, after the start. */
  async run(outlet: Outlet): Promise<ProcessEnd> {
    const { child, spec } = await this.#running.promise;
    const failed = (): void => this.kill();
    const { out, err, sideChannel } = streamsOf(child);
    const capture = (stream: OutputStream, source: Readable | null) =>
      source ? new Capture(source, spec.cap, outlet(stream), failed) : undefined;
    const stdout = capture('stdout', out);
    const stderr = capture('stderr', err);
    const captures = [stdout, stderr].filter((each) => each !== undefined);
    const report = new SandboxReport(sideChannel);
    const streams = [out, err, sideChannel].filter((each) => each !== null);
    const cancelLimit = this.#limit(spec.timeoutMs);
    const exit = await Promise.race([child.exited, this.#stuck.promise]);
    cancelLimit();
    for (const each of captures) each.empty();
    const ends = [...captures.map((each) => each.ended), report.ended];
    const drainTimedOut = await drained(ends, streams, this.#parts.clock);
    await Promise.all(captures.map((each) => each.finish()));
    sideChannel?.destroy();
    void child.sweep();
    if (exit.signal === null && !this.#hasTimedOut && report.hasFailed)
      throw new AppError('unavailable', 'the sandbox could not run the command', { sandbox: 'failed' });
    return {
      exitCode: this.#hasTimedOut ? 124 : codeOfExit(exit),
      capReached: { stdout: stdout?.capReached ?? false, stderr: stderr?.capReached ?? false },
      drainTimedOut,
    };
  }

  /** In the order of the calls; settles when the process's side took the bytes. Rejects as *conflict* when it takes none. */
  write(bytes: Buffer | undefined, closes: boolean): Promise<void> {
    const writing = this.#input.then(() => this.#write(bytes, closes));
    this.#input = writing.catch(() => {});
    return writing;
  }

  /** Rejects as *conflict* when it has no terminal. */
  async resize(size: TerminalSize): Promise<void> {
    const { child } = await this.#running.promise;
    if (!('terminal' in child))
      throw new AppError('conflict', 'failed to resize PTY: process is not attached to a PTY');
    child.terminal.resize(size);
  }

  /** Kills the whole tree, without asking it first; also one that is about to start. */
  kill(): void {
    this.#isKilled = true;
    if (this.#started) this.#kill();
  }

  async close(): Promise<void> {
    this.#owner.abort(new AppError('cancelled', 'the connection is closed'));
    await this.#started?.child.end();
  }

  async #start(spec: ProcessSpec): Promise<Running> {
    const { children } = this.#parts;
    const { cwd, env, terminal: size, takesInput } = spec;
    const { signal } = this.#owner;
    const how = await confined(spec, this.#parts, size !== undefined);
    const { argv, sideChannel, isSandboxed: isContained, handles = [] } = how;
    const clear = (child: Started) => child.sweep();
    if (size) {
      const terminal = { argv, isContained, handles, cwd, env: { TERM: 'xterm-256color', ...env }, size };
      const child = await startConfined(how, () => children.startOnTerminal(terminal, signal), clear);
      return { child, spec, input: terminalInput(child.terminal) };
    }
    const stdin = takesInput ? 'pipe' : 'none';
    const program = { argv, isContained, handles, cwd, env, stdin, output: 'split', sideChannel } as const;
    const child = await startConfined(how, () => children.start(program, signal), clear);
    return { child, spec, input: child.stdin ? pipeInput(child.stdin) : undefined };
  }

  async #write(bytes: Buffer | undefined, closes: boolean): Promise<void> {
    const { input } = await this.#running.promise;
    if (!input) throw new AppError('conflict', `stdin streaming is not enabled for this ${this.#called}`);
    if (this.#isInputClosed) throw new AppError('conflict', 'stdin is already closed');
    this.#isInputClosed = closes;
    if (bytes && bytes.length > 0) await input.write(bytes);
    if (closes) await input.end();
  }

  #limit(timeoutMs: number | undefined): () => void {
    if (timeoutMs === undefined) return () => {};
    return this.#parts.clock.timer(timeoutMs, () => {
      this.#hasTimedOut = true;
      this.kill();
    });
  }

  #kill(): void {
    const { child } = this.#started as Running;
    void child.kill().then(({ left }) => {
      // Not even the kernel could end it: the report does not wait for ever.
      if (left.some(({ pid }) => pid === child.pid)) this.#stuck.resolve({ code: null, signal: 'SIGKILL' });
    });
  }
}

/** What there is to read of a program. */
function streamsOf(
  child: Child | TerminalChild,
): Record<'out', Readable> & Record<'err' | 'sideChannel', Readable | null> {
  if ('terminal' in child) return { out: child.terminal.output, err: null, sideChannel: null };
  return { out: child.stdout, err: child.stderr, sideChannel: child.sideChannel };
}
