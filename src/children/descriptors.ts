// Which descriptors of ours a program would inherit: libraries open files without saying that they end at an exec.

import { closeSync, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';

/** The flag O_CLOEXEC in /proc/PID/fdinfo, which is octal; the same on all architectures of Linux that Node runs on. */
const CLOSES_AT_EXEC = 0o2000000;

/** What is no file and known to close itself, by descriptor: device and inode. */
const known = new Map<number, string>();

/**
 * All from 3 on that do not close themselves in a program that is started; where the system does not tell, all that are open.
 * Throws where they cannot be listed.
 */
export function inheritable(): number[] {
  const isLinux = process.platform === 'linux';
  const names = readdirSync(isLinux ? '/proc/self/fd' : '/dev/fd');
  const found: number[] = [];
  for (const name of names) {
    const descriptor = Number(name);
    if (descriptor < 3 || (isLinux && closesItself(descriptor))) continue;
    if (isOpen(descriptor)) found.push(descriptor);
  }
  return found;
}

/** Looking at the flags is dear beside a look at what is open, and a server has a descriptor for each connection. */
function closesItself(descriptor: number): boolean {
  try {
    const status = fstatSync(descriptor);
    const what = `${status.dev}:${status.ino}`;
    // Two descriptors of one file have one inode, and may differ in what they do at an exec.
    const isUnique = !(status.isFile() || status.isDirectory() || status.isCharacterDevice());
    if (isUnique && known.get(descriptor) === what) return true;
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1];
    if (flags === undefined || (Number.parseInt(flags, 8) & CLOSES_AT_EXEC) === 0) return false;
    if (isUnique) known.set(descriptor, what);
    return true;
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

/** Runs `work` with a descriptor that has nothing behind it. */
export function withNothing<T>(work: (nothing: number) => T): T {
  const nothing = openSync('/dev/null', 'r');
  try {
    return work(nothing);
  } finally {
    closeSync(nothing);
  }
}
