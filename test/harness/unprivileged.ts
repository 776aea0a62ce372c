// Work in a process that has no more rights than a user's: to root no folder is shut.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROGRAM = fileURLToPath(new URL('./unprivileged-expansion.mts', import.meta.url));
const WITHOUT_RIGHTS = ['bwrap', '--dev-bind', '/', '/', '--cap-drop', 'ALL'];

export const isRoot = process.getuid?.() === 0;

/** The command line of a program for which shut is shut. */
export function unprivileged(program: readonly string[]): [string, string[]] {
  const [file = '', ...args] = isRoot ? [...WITHOUT_RIGHTS, ...program] : program;
  return [file, args];
}

/** What patterns match below a folder, or why that is not told. */
export async function expandedUnprivileged(
  base: string,
  ...patterns: string[]
): Promise<{ readonly paths?: readonly string[]; readonly kind?: string; readonly message?: string }> {
  const [file, args] = unprivileged([process.execPath, '--import', 'tsx', PROGRAM, base, ...patterns]);
  const { stdout } = await promisify(execFile)(file, args);
  return JSON.parse(stdout);
}
