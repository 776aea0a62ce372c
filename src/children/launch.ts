// The one place where programs are started: what they inherit from us, and what it means when the system refuses.

import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import type { Readable } from 'node:stream';
import { AppError, codeOf, messageOf } from '../base/errors.ts';
import { covering, type Inherited, withNothing } from './descriptors.ts';
import type { LimitMark } from './limit.ts';
import { MARK_VARIABLE } from './marks.ts';
import { startOf } from './processes.ts';

export interface LaunchSpec {
  /** The file to start, and what the program is told as its own name and arguments. */
  readonly file: string;
  readonly argv: readonly string[];
  /** What people call it. */
  readonly name: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly mark: string;
  /** Nothing that it starts can get away from it, so that the mark in its environment will do. */
  readonly isContained: boolean;
  /** A session and group of its own from the start: signals for our terminal do not reach it, ours reach all of it. */
  readonly isDetached: boolean;
  readonly stdio: readonly Inherited[];
  /** Descriptors of ours that it would inherit although it must not. */
  readonly covered: ReadonlySet<number>;
}

/** How the first process ended: one of the two is set. */
export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Launched {
  readonly pid: number;
  /** When it started; undefined when it has ended already or the system does not tell. */
  readonly started: string | undefined;
  /** Whether the watchdog has seen it begin. */
  readonly isGuarded: boolean;
  /** Never rejects. */
  readonly exited: Promise<ChildExit>;
  readonly hasExited: () => boolean;
  /** What was asked for as `pipe` at 3. */
  readonly sideChannel: Readable | null;
}

/** What another process is told in order to start a program. */
export interface Order {
  readonly file: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** What becomes its descriptors from 0 on: one of ours and the flags to open it with once more; null: nothing. */
  readonly descriptors: readonly ({ readonly descriptor: number; readonly flags: number } | null)[];
}

export interface Refusal {
  /** As the system tells it. */
  readonly code: string;
  readonly message: string;
  /** It failed before the start itself, which we may try then. */
  readonly isHelpers: boolean;
}

/** Starts programs from another process; undefined where or while it cannot. */
export type StartElsewhere = (order: Order) => Promise<Launched | Refusal> | undefined;

/**
 * Settles when the program runs. Rejects as *notFound*, *invalid* or *unavailable*. It is started elsewhere if that can be: there
 * a fork takes a third of the time that it takes here, and stops nobody's work.
 */
export async function launch(spec: LaunchSpec, elsewhere: StartElsewhere, limitMark: LimitMark): Promise<Launched> {
  const order = orderOf(spec);
  const answer = order ? await elsewhere(order) : undefined;
  if (answer && 'pid' in answer) return answer;
  if (answer && !answer.isHelpers)
    throw startError(Object.assign(new Error(answer.message), { code: answer.code }), spec.name);
  return launchHere(spec, limitMark);
}

function launchHere(spec: LaunchSpec, limitMark: LimitMark): Promise<Launched> {
  const fork = () =>
    withNothing((nothing) =>
      spawn(spec.file, spec.argv.slice(1), {
        argv0: spec.argv[0],
        cwd: spec.cwd,
        env: marked(spec),
        detached: spec.isDetached,
        stdio: covering(spec.stdio, spec.covered, nothing),
      }),
    );
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(startError(error, spec.name));
    try {
      const process = spec.isContained ? fork() : limitMark.around(spec.mark, fork);
      process.once('error', fail);
      process.once('spawn', () => {
        process.off('error', fail);
        process.on('error', () => {}); // a signal that could not be sent; the tree is looked at again anyway
        resolve(launched(process));
      });
    } catch (error) {
      fail(error);
    }
  });
}

function launched(process: ChildProcess): Launched {
  const pid = process.pid as number;
  return {
    pid,
    started: startOf(pid),
    isGuarded: false,
    exited: new Promise((resolve) => {
      process.once('exit', (code, signal) => resolve({ code, signal }));
    }),
    hasExited: () => process.exitCode !== null || process.signalCode !== null,
    sideChannel: (process.stdio[3] as Readable | null | undefined) ?? null,
  };
}

const marked = ({ env, mark }: LaunchSpec): Record<string, string> => ({ ...env, [MARK_VARIABLE]: mark });

/**
 * For what has nothing but standard streams, each of them a pipe that can be opened again; undefined for all else. A sandbox that
 * dies with its parent has to be started from here: else it would outlive us with the helper.
 */
function orderOf(spec: LaunchSpec): Order | undefined {
  const { stdio } = spec;
  if (!spec.isDetached || stdio.length !== 3 || process.platform !== 'linux') return undefined;
  const descriptors = stdio.map((each, index) =>
    typeof each === 'number'
      ? { descriptor: each, flags: index === 0 ? constants.O_RDONLY : constants.O_WRONLY }
      : null,
  );
  const { file, argv, cwd } = spec;
  return { file, argv, cwd, env: marked(spec), descriptors };
}

function startError(error: unknown, program: string): AppError {
  const code = codeOf(error);
  if (code === 'ENOENT')
    return new AppError('notFound', `cannot start ${program}: its interpreter is missing`, { program });
  // What a smaller stack leaves room for is less than what is let through before.
  if (code === 'E2BIG')
    return new AppError(
      'invalid',
      `cannot start ${program}: too much to start a program with, says the system (E2BIG)`,
      { program },
    );
  if (code === 'EAGAIN' || code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM')
    return new AppError('unavailable', `cannot start ${program}: ${code}`, { program }, { cause: error });
  return new AppError('invalid', `cannot start ${program}: ${messageOf(error)}`, { program }, { cause: error });
}
