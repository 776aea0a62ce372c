// Starting programs: every child has an owner, a group and an environment mark of its own, and ends with its owner.

import type { Readable, Writable } from 'node:stream';
import { type Closable, closeOnce } from '../base/close.ts';
import { AppError } from '../base/errors.ts';
import { type Log, silentLog } from '../base/log.ts';
import { onAbort, throwIfAborted } from '../base/signals.ts';
import type { Inherited } from './descriptors.ts';
import { type ChildExit, type Launched, launch } from './launch.ts';
import { createLimitMark } from './limit.ts';
import { createMarks } from './marks.ts';
import { createPipeMaker, type Pipe } from './pipe.ts';
import { checkedProgram, findProgram } from './program.ts';
import { createSharedLook, type LookFor } from './shared-look.ts';
import { createSweeper } from './sweep.ts';
import { Terminal, type TerminalSize } from './terminal.ts';
import { endTree, killGroup, type Tree, type TreeEnd } from './tree.ts';
import { createWatchdog } from './watchdog.ts';

export interface ProgramSpec {
  /** Program and arguments; the program is looked up in `env.PATH`. */
  readonly argv: readonly [string, ...string[]];
  /** Absolute path of an existing folder. */
  readonly cwd: string;
  /** The whole environment; nothing of ours is added but the mark. */
  readonly env: Readonly<Record<string, string>>;
  /** Nothing that it starts can get away from it: it is a sandbox, or known to start nothing that lives on. Default: it may. */
  readonly isContained?: boolean;
  /** Descriptors of ours that become 4 and those after it in the program; ours stay open. */
  readonly handles?: readonly number[];
}

export interface ChildSpec extends ProgramSpec {
  /** `none`: the child reads end-of-file at once. */
  readonly stdin: 'pipe' | 'none';
  /** `merged`: standard output and standard error are one pipe and keep their order; `stderr` is null then. */
  readonly output: 'split' | 'merged';
  /** Opens descriptor 3 of the child for what it has to say to us alone. */
  readonly sideChannel?: boolean;
}

export interface TerminalSpec extends ProgramSpec {
  readonly size: TerminalSize;
}

/** To be closed or swept after its exit as well: what it left behind is looked for and ended only then. */
export interface Started extends Closable {
  readonly pid: number;
  readonly mark: string;
  /** Settles when the first process has ended, whoever still holds its pipes; never rejects. */
  readonly exited: Promise<ChildExit>;
  /** Ends the whole tree, also what the first process left behind; idempotent, never rejects. `close` does the same. */
  end(): Promise<TreeEnd>;
  /** The same without asking it first. */
  kill(): Promise<TreeEnd>;
  /** After the exit: the same for what was left behind, which is looked for within a moment, for many children at once. */
  sweep(): Promise<TreeEnd>;
}

export interface Child extends Started {
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable | null;
  readonly sideChannel: Readable | null;
}

export interface TerminalChild extends Started {
  /** When `exited` settles it holds all that was printed before. */
  readonly terminal: Terminal;
}

export interface Children extends Closable {
  /**
   * Starts a program that ends with `signal` or with this object, whichever is first. Rejects as *notFound* or *invalid*
   * naming what is wrong with program or folder, as *cancelled* when the signal has aborted, as *unavailable* after the close.
   */
  start(spec: ChildSpec, signal: AbortSignal): Promise<Child>;
  /** The same on a terminal of its own, which is standard input, output and error of the program. */
  startOnTerminal(spec: TerminalSpec, signal: AbortSignal): Promise<TerminalChild>;
}

/** Makes the terminal that it was started on its controlling one, which only a program itself can do, and becomes `argv`. */
const TERMINAL_TAKER: readonly string[] = ['setsid', '--ctty', '--'];

/** Milliseconds between TERM and KILL for what a program left behind when it ended. */
const LEFTOVER_GRACE_MS = 1_000;

/** A starter of children. Should this process be killed, a watchdog ends what was started here within 5 s. */
export function createChildren(log: Log = silentLog()): Children {
  const marks = createMarks();
  const limitMark = createLimitMark(log);
  const lookFor = createSharedLook(marks.family);
  const sweeper = createSweeper(marks.family, lookFor);
  /** Our ends of terminals, which programs would inherit. */
  const covered = new Set<number>();
  const watchdog = createWatchdog(marks.family, { covered, limitMark, log });
  const pipeMaker = createPipeMaker(undefined, mkfifo);
  const running = new Set<Started>();
  let isClosed = false;

  /** Where programs are started now: with much memory a fork of ours would hold up everybody. */
  async function mkfifo(args: readonly string[]): Promise<void> {
    const name = 'mkfifo';
    const env = { PATH: '/usr/bin:/bin' };
    const file = await findProgram(name, '/', env.PATH);
    const program = { file, argv: [name, ...args], name, cwd: '/', env, mark: marks.next(), isContained: true };
    const launched = await launch(
      { ...program, isDetached: true, stdio: ['ignore', 'ignore', 'ignore'], covered },
      watchdog.start,
      limitMark,
    );
    const { code } = await launched.exited;
    watchdog.release(launched.pid);
    if (code !== 0) throw new AppError('unavailable', `mkfifo has ended with ${code}`);
  }

  const newMark = (signal: AbortSignal): string => {
    throwIfAborted(signal);
    if (isClosed) throw new AppError('unavailable', 'no more programs are started: closing');
    watchdog.wake();
    return marks.next();
  };

  const own = (launched: Launched, mark: string, signal: AbortSignal): Started => {
    const { pid, exited } = launched;
    const tree = { pid, started: launched.started, mark };
    const ended = () => {
      off();
      running.delete(started);
      watchdog.release(pid);
    };
    const kill = () => void (launched.hasExited() || killGroup(pid));
    const started = {
      pid,
      mark,
      exited,
      ...endings(tree, { hasLeftovers: sweeper.hasLeftovers, lookFor, killNow: kill, ended }),
    };
    running.add(started);
    watchdog.guard(launched);
    const off = onAbort(signal, () => void started.end());
    return started;
  };

  async function start(spec: ChildSpec, signal: AbortSignal): Promise<Child> {
    throwIfAborted(signal);
    const file = await checkedProgram(spec);
    const { pipes, release } = await pipeMaker.open([
      'out',
      ...(spec.output === 'split' ? (['out'] as const) : []),
      ...(spec.stdin === 'pipe' ? (['in'] as const) : []),
    ]);
    try {
      const mark = newMark(signal);
      const { stdin, stdout, stderr } = arrange(spec, pipes);
      const stdio: Inherited[] = [
        stdin?.descriptor ?? 'ignore',
        stdout.descriptor,
        (stderr ?? stdout).descriptor,
        ...(spec.sideChannel ? (['pipe'] as const) : []),
        ...(spec.sideChannel || !spec.handles?.length ? [] : (['ignore'] as const)),
        ...(spec.handles ?? []),
      ];
      const launched = await launch(
        {
          ...spec,
          file,
          name: spec.argv[0],
          mark,
          isContained: spec.isContained ?? false,
          isDetached: true,
          stdio,
          covered,
        },
        watchdog.start,
        limitMark,
      );
      const { sideChannel } = launched;
      // A pipe that breaks has simply ended.
      for (const stream of [...pipes.map((pipe) => pipe.stream), sideChannel]) stream?.on('error', () => {});
      const streams = {
        stdin: stdin?.stream ?? null,
        stdout: stdout.stream,
        stderr: stderr?.stream ?? null,
        sideChannel,
      };
      return { ...own(launched, mark, signal), ...streams };
    } catch (error) {
      for (const { stream } of pipes) stream.destroy();
      throw error;
    } finally {
      release();
    }
  }

  async function startOnTerminal(spec: TerminalSpec, signal: AbortSignal): Promise<TerminalChild> {
    throwIfAborted(signal);
    await checkedProgram(spec);
    const file = await terminalTaker();
    const mark = newMark(signal);
    const terminal = new Terminal(spec.size, () => covered.delete(terminal.master));
    covered.add(terminal.master);
    try {
      const { slave } = terminal;
      const stdio = [slave, slave, slave, ...(spec.handles?.length ? (['ignore', ...spec.handles] as const) : [])];
      const argv = [...TERMINAL_TAKER, ...spec.argv];
      const launched = await launch(
        {
          ...spec,
          argv,
          file,
          name: spec.argv[0],
          mark,
          isContained: spec.isContained ?? false,
          isDetached: false,
          stdio,
          covered,
        },
        watchdog.start,
        limitMark,
      );
      const exited = launched.exited.then((exit) => {
        terminal.finish();
        return exit;
      });
      return { ...own({ ...launched, exited }, mark, signal), terminal };
    } catch (error) {
      terminal.discard();
      throw error;
    }
  }

  const close = closeOnce(async () => {
    isClosed = true;
    sweeper.hurry();
    await Promise.all([...running].map((child) => child.close()));
    await Promise.all([watchdog.close(), pipeMaker.close()]);
  });
  return { start, startOnTerminal, close };
}

async function terminalTaker(): Promise<string> {
  try {
    return await findProgram(TERMINAL_TAKER[0] as string, '/', '/usr/bin:/bin');
  } catch (error) {
    throw new AppError('unavailable', 'terminals need the program setsid of util-linux', {}, { cause: error });
  }
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

interface EndingParts {
  readonly hasLeftovers: (tree: Tree) => Promise<boolean>;
  readonly lookFor: LookFor;
  readonly killNow: () => void;
  /** Called once, when nothing of the tree is left or it was given up. */
  readonly ended: () => void;
}

function endings(
  tree: Tree,
  { hasLeftovers, lookFor, killNow, ended }: EndingParts,
): Pick<Started, 'end' | 'kill' | 'sweep' | 'close'> {
  let ending: Promise<TreeEnd> | undefined;
  const once = (work: () => Promise<TreeEnd>) => {
    ending ??= work().finally(ended);
    return ending;
  };
  const end = () => once(() => endTree(tree, { lookFor }));
  return {
    end,
    close: async () => void (await end()),
    kill: () => {
      killNow();
      return once(() => endTree(tree, { graceMs: 0, lookFor }));
    },
    sweep: () =>
      once(async () =>
        (await hasLeftovers(tree)) ? endTree(tree, { graceMs: LEFTOVER_GRACE_MS, lookFor }) : { left: [] },
      ),
  };
}
