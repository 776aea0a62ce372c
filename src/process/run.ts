// One started command: waiting for its exit, its output, its time and its owner, and telling what came of it.

import { constants } from 'node:os';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { deferred, onAbort } from '../base/signals.ts';
import type { ChildExit } from '../children/launch.ts';
import type { Child } from '../children/spawn.ts';
import type { TreeEnd } from '../children/tree.ts';
import { type CommandSpec, endOf, SandboxReport } from './confined.ts';
import { Delivery, type OnOutput } from './delivery.ts';
import { drained } from './drain.ts';
import { OUTPUT_CAP, OutputCollector } from './output.ts';

export interface RunRequest extends CommandSpec {
  readonly timeoutMs?: number;
  /** Bytes of output that are kept; default 1 MiB. */
  readonly outputCap?: number;
  /** Gets standard output and error as one stream, in order. While its promise stands the command is slowed down. */
  readonly onOutput?: OnOutput;
  /** Bytes handed to `onOutput` at most; default `outputCap`. What comes after is read, counted, and kept as the tail only. */
  readonly deliverAtMost?: number;
}

export interface RunResult {
  /** The command's own code; 128 + n after signal n; 124 after a timeout; -1 when it could not be started. */
  readonly exitCode: number;
  /** Known for a command without a sandbox only: a sandbox reports signals as 128 + n. */
  readonly signal: NodeJS.Signals | null;
  readonly durationMs: number;
  /** Head and tail of the output as text, or why the command could not be started. */
  readonly output: string;
  readonly outputBytes: number;
  readonly droppedBytes: number;
  readonly isCapped: boolean;
  readonly timedOut: boolean;
  readonly aborted: boolean;
  readonly spawnError?: AppError;
  /** Settles when nothing that the command started is left; already so after an abort or a timeout. Never rejects. */
  readonly settled: Promise<Settled>;
}

export interface Settled extends TreeEnd {
  /** Bytes that came after the end of the command, or after the abort, and were thrown away. */
  readonly lateBytes: number;
}

/** What a run has to do with the program that was started for it. */
export type RunChild = Pick<Child, 'pid' | 'exited' | 'end' | 'stdout' | 'sideChannel'>;

export class Run {
  readonly #request: RunRequest;
  readonly #child: RunChild;
  readonly #clock: Clock;
  readonly #began: number;
  readonly #signal: AbortSignal;
  readonly #output: OutputCollector;
  readonly #delivery: Delivery | undefined;
  readonly #pipeEnded: Promise<void>;
  readonly #report: SandboxReport;
  readonly #stopped = deferred<'aborted' | 'timedOut' | 'failed'>();
  #isLate = false;
  #lateBytes = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(request: RunRequest, child: RunChild, clock: Clock, began: number, signal: AbortSignal) {
    this.#request = request;
    this.#child = child;
    this.#clock = clock;
    this.#began = began;
    this.#signal = signal;
    const cap = request.outputCap ?? OUTPUT_CAP;
    this.#output = new OutputCollector(cap);
    const { onOutput, deliverAtMost: limit = cap } = request;
    if (onOutput)
      this.#delivery = new Delivery(child.stdout, { onOutput, limit }, (error) => {
        this.#failure = { error };
        this.#stopped.resolve('failed');
      });
    this.#pipeEnded = endOf(child.stdout);
    this.#report = new SandboxReport(child.sideChannel);
    child.stdout.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  #take(chunk: Buffer): void {
    if (this.#isLate) {
      this.#lateBytes += chunk.length;
      return;
    }
    this.#output.push(chunk);
    this.#delivery?.push(chunk);
  }

  async result(): Promise<RunResult> {
    const { timeoutMs } = this.#request;
    const offTimer =
      timeoutMs === undefined ? () => {} : this.#clock.timer(timeoutMs, () => this.#stopped.resolve('timedOut'));
    const offAbort = onAbort(this.#signal, () => {
      this.#closeOutput();
      this.#stopped.resolve('aborted');
    });
    try {
      const outcome = await Promise.race([this.#untilExit(), this.#stopped.promise]);
      if (typeof outcome !== 'string') return this.#finish(outcome, undefined);
      // Read on while the tree ends: a command blocked in a write could not hear the request.
      this.#delivery?.empty();
      if (outcome !== 'timedOut') this.#closeOutput();
      const { left } = await this.#child.end();
      const isStuck = left.some(({ pid }) => pid === this.#child.pid);
      const exit = isStuck ? { code: null, signal: null } : await this.#child.exited;
      await this.#untilDrained();
      if (outcome === 'timedOut') await Promise.race([this.#delivery?.done(), this.#stopSignal()]);
      if (this.#failure) throw this.#failure.error;
      return this.#finish(exit, outcome);
    } finally {
      offTimer();
      offAbort();
    }
  }

  /** Settles when the command has exited, what it printed is in, and the consumer has taken it. */
  async #untilExit(): Promise<ChildExit> {
    const exit = await this.#child.exited;
    this.#delivery?.empty();
    await this.#untilDrained();
    this.#isLate = true;
    await this.#delivery?.done();
    return exit;
  }

  /** Waits for the end of the pipe, but not for whoever else holds it. */
  async #untilDrained(): Promise<void> {
    const { stdout, sideChannel } = this.#child;
    await drained([this.#pipeEnded, this.#report.ended], sideChannel ? [stdout, sideChannel] : [stdout], this.#clock);
  }

  #stopSignal(): Promise<void> {
    return new Promise((resolve) => void onAbort(this.#signal, resolve));
  }

  #closeOutput(): void {
    this.#isLate = true;
    this.#delivery?.stop();
  }

  #finish(exit: ChildExit, stopped: 'aborted' | 'timedOut' | 'failed' | undefined): RunResult {
    this.#closeOutput();
    const durationMs = this.#clock.elapsed() - this.#began;
    if (!stopped && exit.signal === null && this.#report.hasFailed) {
      const settled = this.#settle();
      const error = new AppError('unavailable', `sandbox could not run the command: ${this.#output.text().trim()}`, {
        sandbox: 'failed',
      });
      return { ...unstarted(error, durationMs), settled };
    }
    return {
      exitCode: stopped === 'timedOut' ? 124 : codeOfExit(exit),
      signal: exit.signal,
      durationMs,
      output: this.#output.text(),
      outputBytes: this.#output.totalBytes,
      droppedBytes: this.#output.droppedBytes,
      isCapped: this.#output.isCapped,
      timedOut: stopped === 'timedOut',
      aborted: stopped === 'aborted',
      settled: this.#settle(),
    };
  }

  async #settle(): Promise<Settled> {
    const { left } = await this.#child.end();
    await this.#untilDrained();
    this.#child.stdout.destroy();
    this.#child.sideChannel?.destroy();
    return { left, lateBytes: this.#lateBytes };
  }
}

/** As a shell tells it: 128 + n after signal n; -1 when it is not known. */
export function codeOfExit({ code, signal }: ChildExit): number {
  if (signal !== null) return 128 + constants.signals[signal];
  return code ?? -1;
}

/** What a command comes to that could not be started. */
export function unstarted(error: AppError, durationMs: number): RunResult {
  return {
    exitCode: -1,
    signal: null,
    durationMs,
    output: error.message,
    outputBytes: Buffer.byteLength(error.message),
    droppedBytes: 0,
    isCapped: false,
    timedOut: false,
    aborted: false,
    spawnError: error,
    settled: Promise.resolve({ left: [], lateBytes: 0 }),
  };
}
