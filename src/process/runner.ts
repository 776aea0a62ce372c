// Running one command of an agent to its end: in the sandbox, within its time, with its output bounded, and nothing of it left.

import { type Clock, systemClock } from '../base/clock.ts';
import { isAppError } from '../base/errors.ts';
import type { Child, Children } from '../children/spawn.ts';
import type { SandboxState } from '../sandbox/probe.ts';
import { confined, startConfined } from './confined.ts';
import { Run, type RunRequest, type RunResult, unstarted } from './run.ts';

export interface RunnerParts {
  readonly children: Children;
  readonly sandbox: () => Promise<SandboxState>;
  readonly clock?: Clock;
}

/**
 * Settles when the command has exited and its output is in, at most 250 ms after the exit plus the time `onOutput` takes; after an
 * abort or a timeout when its whole tree is gone. A command that cannot be started is a result, not a rejection. Rejects as
 * *cancelled* when the signal had aborted before the start, and with what `onOutput` threw.
 */
export async function runCommand(request: RunRequest, parts: RunnerParts, signal: AbortSignal): Promise<RunResult> {
  const clock = parts.clock ?? systemClock;
  const began = clock.elapsed();
  try {
    const child = await start(request, parts, signal);
    return await new Run(request, child, clock, began, signal).result();
  } catch (error) {
    if (!isAppError(error) || error.kind === 'cancelled') throw error;
    return unstarted(error, clock.elapsed() - began);
  }
}

async function start(request: RunRequest, { children, sandbox }: RunnerParts, signal: AbortSignal): Promise<Child> {
  const { cwd, env } = request;
  const how = await confined(request, sandbox, false);
  const { argv, sideChannel, handles = [] } = how;
  return startConfined(
    how,
    () => children.start({ argv, sideChannel, handles, cwd, env, stdin: 'none', output: 'merged' }, signal),
    (child) => child.end(),
  );
}
