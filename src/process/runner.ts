// Running one command of an agent to its end: in the sandbox, within its time, with its output bounded, and nothing of it left.

import { type Clock, systemClock } from '../base/clock.ts';
import { AppError, isAppError } from '../base/errors.ts';
import { checkFolder, findProgram } from '../children/program.ts';
import type { Child, Children } from '../children/spawn.ts';
import { isSandboxed } from '../sandbox/policy.ts';
import type { SandboxState } from '../sandbox/probe.ts';
import { wrapCommand } from '../sandbox/wrap.ts';
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
  const { argv, cwd, env, policy } = request;
  const spec = { cwd, env, stdin: 'none', output: 'merged' } as const;
  if (!isSandboxed(policy)) return children.start({ ...spec, argv }, signal);
  const state = await sandbox();
  if (!state.isAvailable)
    throw new AppError('unavailable', `sandbox unavailable: ${state.reason}; ${state.advice}`, {
      sandbox: 'unavailable',
    });
  // Asked here too, since the sandbox program would tell it in words of its own.
  await checkFolder(cwd);
  await findProgram(argv[0], cwd, env.PATH);
  const isBwrap = state.tool.kind === 'bwrap';
  const wrapped = await wrapCommand(policy, { argv, cwd, ...(isBwrap ? { statusDescriptor: 3 } : {}) }, state.tool);
  return children.start({ ...spec, argv: wrapped, sideChannel: isBwrap }, signal);
}
