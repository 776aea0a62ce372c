// The one place where programs are started: what they inherit from us, and what it means when the system refuses.

import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { AppError, codeOf, messageOf } from '../base/errors.ts';
import { inheritable, withNothing } from './descriptors.ts';
import { MARK_VARIABLE } from './processes.ts';

/** A descriptor of ours that becomes one of the child's. */
export type Inherited = number | 'ignore' | 'pipe';

export interface LaunchSpec {
  /** The file to start, and what the program is told as its own name and arguments. */
  readonly file: string;
  readonly argv: readonly string[];
  /** What people call it. */
  readonly name: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly mark: string;
  /** A session and group of its own from the start: signals for our terminal do not reach it, ours reach all of it. */
  readonly isDetached: boolean;
  readonly stdio: readonly Inherited[];
  /** Descriptors of ours that it would inherit although it must not. */
  readonly covered: ReadonlySet<number>;
}

/** Settles when the program runs. Rejects as *notFound*, *invalid* or *unavailable*. */
export function launch(spec: LaunchSpec): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(startError(error, spec.name));
    try {
      const process = withNothing((nothing) =>
        spawn(spec.file, spec.argv.slice(1), {
          argv0: spec.argv[0],
          cwd: spec.cwd,
          env: { ...spec.env, [MARK_VARIABLE]: spec.mark },
          detached: spec.isDetached,
          stdio: covering(spec, nothing),
        }),
      );
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

/** Puts nothing in the place of each descriptor that the program would inherit and was not given. */
function covering({ stdio, covered }: LaunchSpec, nothing: number): StdioOptions {
  const whole: Inherited[] = [...stdio];
  for (const descriptor of new Set([...covered, ...inheritable()])) {
    if (descriptor < stdio.length) continue; // something else takes its place anyway
    while (whole.length <= descriptor) whole.push('ignore');
    whole[descriptor] = nothing;
  }
  return whole;
}

function startError(error: unknown, program: string): AppError {
  const code = codeOf(error);
  if (code === 'ENOENT')
    return new AppError('notFound', `cannot start ${program}: its interpreter is missing`, { program });
  if (code === 'EAGAIN' || code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM')
    return new AppError('unavailable', `cannot start ${program}: ${code}`, { program }, { cause: error });
  return new AppError('invalid', `cannot start ${program}: ${messageOf(error)}`, { program }, { cause: error });
}
