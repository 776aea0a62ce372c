// Which descriptors of ours a program would inherit: libraries open files without saying that they end at an exec.

import { closeSync, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { systemClock } from '../base/clock.ts';
import { descriptorsVersion } from '../base/descriptors.ts';

/** A descriptor of ours that becomes one of the child's. */
export type Inherited = number | 'ignore' | 'pipe';

/** The flag O_CLOEXEC in /proc/PID/fdinfo, which is octal; the same on all architectures of Linux that Node runs on. */
const CLOSES_AT_EXEC = 0o2000000;

/** Milliseconds for which one look does: for what a library opens without a word of it. */
const LOOK_MS = 1_000;

interface Look {
  readonly at: number;
  readonly version: number;
  readonly found: readonly number[];
}

let last: Look | undefined;

/**
 * All from 3 on that do not close themselves in a program that is started; where the system does not tell, all that are open.
 * Some may have been closed since. Node opens everything so that it closes itself, so this changes only where a library opens
 * a file: it is looked again when one was said to, and after a second. Throws where they cannot be listed.
 */
function inheritable(): readonly number[] {
  const [at, version] = [systemClock.elapsed(), descriptorsVersion()];
  if (last?.version !== version || at - last.at >= LOOK_MS) last = { at, version, found: look() };
  return last.found;
}

function look(): number[] {
  const isLinux = process.platform === 'linux';
  const found: number[] = [];
  for (const name of readdirSync(isLinux ? '/proc/self/fd' : '/dev/fd')) {
    const descriptor = Number(name);
    if (descriptor < 3 || (isLinux && closesItself(descriptor))) continue;
    if (isOpen(descriptor)) found.push(descriptor);
  }
  return found;
}

function closesItself(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSES_AT_EXEC) !== 0;
  } catch {
    return false; // it has been closed since, or cannot be looked at: then it counts as inherited
  }
}

function isOpen(descriptor: number): boolean {
  try {
    fstatSync(descriptor);
    return true;
  } catch {
    return false;
  }
}

/** Puts nothing in the place of each descriptor that the program would inherit and was not given. */
export function covering(stdio: readonly Inherited[], covered: ReadonlySet<number>, nothing: number): Inherited[] {
  const whole: Inherited[] = [...stdio];
  for (const descriptor of new Set([...covered, ...inheritable()])) {
    if (descriptor < stdio.length) continue; // something else takes its place anyway
    while (whole.length <= descriptor) whole.push('ignore');
    whole[descriptor] = nothing;
  }
  return whole;
}

/** Runs `work` with a descriptor that has nothing behind it. */
export function withNothing<T>(work: (nothing: number) => T): T {
  const nothing = openSync('/dev/null', 'r');
  try {
    return work(nothing);
  } finally {
    closeSync(nothing);
  }
}
