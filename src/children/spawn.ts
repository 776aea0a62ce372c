// Starting programs: every child has an owner, a group and an environment mark of its own, and ends with its owner.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { type Closable, closeOnce } from '../base/close.ts';
import { AppError, codeOf, messageOf } from '../base/errors.ts';
import { onAbort, throwIfAborted } from '../base/signals.ts';
import { openPipes, type Pipe } from './pipe.ts';
import { MARK_VARIABLE, startOf } from './processes.ts';
import { checkFolder, findProgram } from './program.ts';
import { endTree, type TreeEnd } from './tree.ts';
import { createWatchdog } from './watchdog.ts';

export interface ChildSpec {
  /** Program and arguments; the program is looked up in `env.PATH`. */
  readonly argv: readonly [string, ...string[]];
  /** Absolute path of an existing folder. */
  readonly cwd: string;
  /** The whole environment; nothing of ours is added but the mark. */
  readonly env: Readonly<Record<string, string>>;
  /** `none`: the child reads end-of-file at once. */
  readonly stdin: 'pipe' | 'none';
  /** `merged`: standard output and standard error are one pipe and keep their order; `stderr` is null then. */
  readonly output: 'split' | 'merged';
  /** Opens descriptor 3 of the child for what it has to say to us alone. */
  readonly sideChannel?: boolean;
}

/** How the first process ended: one of the two is set. */
export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** To be closed after its exit as well: what it left behind is looked for and ended only then. */
export interface Child extends Closable {
  readonly pid: number;
  readonly mark: string;
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable | null;
  readonly sideChannel: Readable | null;
  /** Settles when the first process has ended, whoever still holds its pipes; never rejects. */
  readonly exited: Promise<ChildExit>;
  /** Ends the whole tree, also what the first process left behind; idempotent, never rejects. `close` does the same. */
  end(): Promise<TreeEnd>;
}

export interface Children extends Closable {
  /**
   * Starts a program that ends with `signal` or with this object, whichever is first. Rejects as *notFound* or *invalid*
   * naming what is wrong with program or folder, as *cancelled* when the signal has aborted, as *unavailable* after the close.
   */
  start(spec: ChildSpec, signal: AbortSignal): Promise<Child>;
}

/** A starter of children. Should this process be killed, a watchdog ends what was started here within 5 s. */
export function createChildren(): Children {
  const family = randomBytes(12).toString('hex');
  const watchdog = createWatchdog(`${family}.`);
  const running = new Set<Child>();
  let isClosed = false;

  async function start(spec: ChildSpec, signal: AbortSignal): Promise<Child> {
    throwIfAborted(signal);
    await checkFolder(spec.cwd);
    const program = await findProgram(spec.argv[0], spec.cwd, spec.env.PATH);
    const { pipes, release } = await openPipes([
      'out',
      ...(spec.output === 'split' ? (['out'] as const) : []),
      ...(spec.stdin === 'pipe' ? (['in'] as const) : []),
    ]);
    try {
      throwIfAborted(signal);
      if (isClosed) throw new AppError('unavailable', 'no more programs are started: closing');
      watchdog.wake();
      const child = await launch(program, spec, `${family}.${randomBytes(8).toString('hex')}`, arrange(spec, pipes));
      running.add(child.child);
      watchdog.guard(child.child.pid, child.started);
      const off = onAbort(signal, () => void child.child.end());
      child.onEnded(() => {
        off();
        running.delete(child.child);
        watchdog.release(child.child.pid);
      });
      return child.child;
    } catch (error) {
      for (const { stream } of pipes) stream.destroy();
      throw error;
    } finally {
      release();
    }
  }

  const close = closeOnce(async () => {
    isClosed = true;
    await Promise.all([...running].map((child) => child.close()));
    await watchdog.close();
  });
  return { start, close };
}

interface Standard {
  readonly stdin: Pipe | null;
  readonly stdout: Pipe;
  readonly stderr: Pipe | null;
}

function arrange(spec: ChildSpec, pipes: readonly Pipe[]): Standard {
  const [stdout, ...rest] = pipes as [Pipe, ...Pipe[]];
  const stderr = spec.output === 'split' ? (rest.shift() ?? null) : null;
  return { stdin: rest.shift() ?? null, stdout, stderr };
}

interface Launched {
  readonly child: Child;
  readonly started: string | undefined;
  onEnded(work: () => void): void;
}

async function launch(program: string, spec: ChildSpec, mark: string, standard: Standard): Promise<Launched> {
  const process = await spawned(program, spec, mark, standard);
  const pid = process.pid as number;
  const started = startOf(pid);
  const exited = new Promise<ChildExit>((resolve) => {
    process.once('exit', (code, signal) => resolve({ code, signal }));
  });
  let whenEnded = () => {};
  let ending: Promise<TreeEnd> | undefined;
  const end = () => {
    ending ??= endTree({ pid, started, mark }).then((result) => {
      whenEnded();
      return result;
    });
    return ending;
  };
  const sideChannel = (process.stdio[3] as Readable | undefined) ?? null;
  const { stdin, stdout, stderr } = standard;
  // A pipe that breaks has simply ended.
  for (const stream of [stdin?.stream, stdout.stream, stderr?.stream, sideChannel]) stream?.on('error', () => {});
  const child: Child = {
    pid,
    mark,
    stdin: stdin?.stream ?? null,
    stdout: stdout.stream,
    stderr: stderr?.stream ?? null,
    sideChannel,
    exited,
    end,
    close: async () => void (await end()),
  };
  const onEnded = (work: () => void) => {
    whenEnded = work;
  };
  return { child, started, onEnded };
}

function spawned(program: string, spec: ChildSpec, mark: string, standard: Standard): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(startError(error, spec.argv[0]));
    try {
      const process = spawn(program, spec.argv.slice(1), {
        argv0: spec.argv[0],
        cwd: spec.cwd,
        env: { ...spec.env, [MARK_VARIABLE]: mark },
        detached: true, // a session and group of its own: signals for our terminal do not reach it, ours reach all of it
        stdio: [
          standard.stdin?.descriptor ?? 'ignore',
          standard.stdout.descriptor,
          (standard.stderr ?? standard.stdout).descriptor,
          ...(spec.sideChannel ? (['pipe'] as const) : []),
        ],
      });
      process.once('error', fail);
      process.once('spawn', () => {
        process.off('error', fail);
        process.on('error', () => {}); // a signal that could not be sent; the tree is looked at again anyway
        resolve(process);
      });
    } catch (error) {
      fail(error);
    }
  });
}

function startError(error: unknown, program: string): AppError {
  const code = codeOf(error);
  if (code === 'ENOENT')
    return new AppError('notFound', `cannot start ${program}: its interpreter is missing`, { program });
  if (code === 'EAGAIN' || code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM')
    return new AppError('unavailable', `cannot start ${program}: ${code}`, { program }, { cause: error });
  return new AppError('invalid', `cannot start ${program}: ${messageOf(error)}`, { program }, { cause: error });
}
