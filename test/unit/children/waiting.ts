// Waiting for what only the process table can tell, and small readings of it.

import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** Settles with the first value of `look` that is neither false nor undefined; fails after a generous while. */
export async function eventually<T>(
  what: string,
  look: () => T | false | undefined | Promise<T | false | undefined>,
): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found !== false && found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`waited in vain for: ${what}`);
    await pause(10);
  }
}

/** True while a process runs; one that has ended and waits to be collected does not. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}

/** The state letter of a process, e.g. `T` when stopped. */
export function stateOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2)[0];
  } catch {
    return undefined;
  }
}

/** The pids that a script wrote into a file, one a line, once there are `count` of them. */
export function pidsIn(file: string, count: number): Promise<number[]> {
  return eventually(`${count} pids in ${file}`, () => {
    try {
      const pids = readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number);
      return pids.length >= count ? pids : undefined;
    } catch {
      return undefined;
    }
  });
}
