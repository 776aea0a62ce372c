// A server that a client starts for itself, spoken to over its standard streams, and ended with the client.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { AppError, messageOf } from '../base/errors.ts';
import { childConnection } from '../transports/child.ts';
import { FRAME_LIMIT } from '../transports/connection.ts';
import type { Dial, DialHooks, Line } from './dial.ts';
import { waitingClock } from './timing.ts';

export interface SpawnOptions {
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** Where a Heddle server keeps everything: `--data-dir`. */
  readonly stateDirectory?: string;
  /** Requests of one connection that a Heddle server takes before it is overloaded: `--app-server-queue-cap`. */
  readonly serverQueueCap?: number;
  /** The whole environment; default: this process's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** In milliseconds. */
export interface Patience {
  /** From the end of its input until it is asked with a signal to end. */
  readonly leaveMs: number;
  /** From there until it is killed. */
  readonly termMs: number;
}

const PATIENCE: Patience = { leaveMs: 10_000, termMs: 3_000 };
/** What is kept of the text beside the protocol, in characters. */
const MAX_WORDS = 2_000;
/** Servers of this protocol send no larger frame than this, in bytes. */
const MAX_FRAME_BYTES = 8 * FRAME_LIMIT;

export function dialProcess(options: SpawnOptions, patience = PATIENCE): Dial {
  return (hooks) =>
    new Promise((resolve, reject) => {
      const child = spawn(options.command, argumentsOf(options), {
        stdio: 'pipe',
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
        ...(options.env === undefined ? {} : { env: options.env }),
      });
      child.once('error', (error) =>
        reject(
          new AppError('unavailable', `cannot start ${options.command}: ${messageOf(error)}`, {}, { cause: error }),
        ),
      );
      child.once('spawn', () => resolve(lineOf(child, hooks, patience)));
    });
}

function argumentsOf({ args = [], stateDirectory, serverQueueCap }: SpawnOptions): string[] {
  return [
    ...args,
    ...(stateDirectory === undefined ? [] : ['--data-dir', stateDirectory]),
    ...(serverQueueCap === undefined ? [] : ['--app-server-queue-cap', String(serverQueueCap)]),
  ];
}

function lineOf(child: ChildProcessWithoutNullStreams, hooks: DialHooks, patience: Patience): Line {
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    words = `${words}${text}`.slice(-MAX_WORDS);
    hooks.stderr(text);
  });
  const ended = new Promise<void>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    else child.once('exit', () => resolve());
  });
  // Whoever inherited its output may hold it open for ever; what it wrote itself is there soon.
  void ended.then(() => waitingClock.timer(patience.termMs, () => child.stdout.destroy()));
  return {
    connection: childConnection(child, { frameLimit: MAX_FRAME_BYTES }),
    end: () => endOf(child, ended, patience),
    lastWords: () => words,
  };
}

/** The end of its input asks it to finish and leave; one that does not is ended. */
async function endOf(child: ChildProcessWithoutNullStreams, ended: Promise<void>, patience: Patience): Promise<void> {
  const { leaveMs, termMs } = patience;
  child.stdin.end();
  const stops = [
    waitingClock.timer(leaveMs, () => child.kill('SIGTERM')),
    waitingClock.timer(leaveMs + termMs, () => child.kill('SIGKILL')),
  ];
  await ended;
  for (const stop of stops) stop();
}
