// Running one command of an agent to its end: in the sandbox, within its time, with its output bounded, and nothing of it left.

import { type Clock, systemClock } from '../base/clock.ts';
import { isAppError } from '../base/errors.ts';
import type { Children } from '../children/spawn.ts';
import type { TerminalSize } from '../children/terminal.ts';
import type { Doors } from '../sandbox/doors.ts';
import type { SandboxState } from '../sandbox/probe.ts';
import { confined, startConfined } from './confined.ts';
import { type ProcessInput, terminalInput } from './input.ts';
import { Run, type RunChild, type RunRequest, type RunResult, unstarted } from './run.ts';

export interface RunnerParts {
  readonly children: Children;
  readonly sandbox: () => Promise<SandboxState>;
  /** For commands that reach single hosts only; without it they are not run. */
  readonly doors?: Pick<Doors, 'open'>;
  readonly clock?: Clock;
}

export interface StartRequest extends RunRequest {
  /** Set: on a terminal of this size, which takes input; else it reads end-of-file at once. */
  readonly terminal?: TerminalSize | undefined;
}

export interface RunningCommand {
  /** Undefined: it takes none, or could not be started. */
  readonly input: ProcessInput | undefined;
  /**
   * Settles when the command has exited and its output is in, at most 250 ms after the exit plus the time `onOutput` takes; after
   * an abort or a timeout when its whole tree is gone. Rejects with what `onOutput` threw.
   */
  readonly result: Promise<RunResult>;
}

/**
 * Settles when the command runs, until `signal` aborts. One that cannot be started is a result, not a rejection. Rejects as
 * *cancelled* when the signal had aborted before the start.
 */
export async function startCommand(
  request: StartRequest,
  parts: RunnerParts,
  signal: AbortSignal,
): Promise<RunningCommand> {
  const clock = parts.clock ?? systemClock;
  const began = clock.elapsed();
  try {
    const { child, input } = await start(request, parts, signal);
    return { input, result: new Run(request, child, clock, began, signal).result() };
  } catch (error) {
    if (!isAppError(error) || error.kind === 'cancelled') throw error;
    return { input: undefined, result: Promise.resolve(unstarted(error, clock.elapsed() - began)) };
  }
}

/** The same, to its end. */
export async function runCommand(request: RunRequest, parts: RunnerParts, signal: AbortSignal): Promise<RunResult> {
  return (await startCommand(request, parts, signal)).result;
}

interface StartedCommand {
  readonly child: RunChild;
  readonly input?: ProcessInput;
}

async function start(
  request: StartRequest,
  { children, ...confinement }: RunnerParts,
  signal: AbortSignal,
): Promise<StartedCommand> {
  const { cwd, env, terminal: size } = request;
  const how = await confined(request, confinement, size !== undefined);
  const { argv, sideChannel, isSandboxed: isContained, handles = [] } = how;
  if (!size) {
    const program = { argv, sideChannel, isContained, handles, cwd, env, stdin: 'none', output: 'merged' } as const;
    return {
      child: await startConfined(
        how,
        () => children.start(program, signal),
        (each) => each.end(),
      ),
    };
  }
  const onTerminal = () => children.startOnTerminal({ argv, isContained, handles, cwd, env, size }, signal);
  const child = await startConfined(how, onTerminal, (each) => each.end());
  const { pid, exited, end, terminal } = child;
  return { child: { pid, exited, end, stdout: terminal.output, sideChannel: null }, input: terminalInput(terminal) };
}
