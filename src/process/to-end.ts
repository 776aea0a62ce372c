// Running a small program of the system to its end: what it says is kept, and it ends with whoever asked.

import type { Children } from '../children/spawn.ts';
import type { RunToEnd } from '../sandbox/probe.ts';

const LIMIT_MS = 10_000;
/** Bytes of what it says that are kept. */
const MOST = 65_536;

/** Programs that confine themselves; they end with `signal`, and after ten seconds. */
export function runsToEnd(children: Pick<Children, 'start'>, signal?: AbortSignal): RunToEnd {
  return async (argv, cwd, env) => {
    const late = AbortSignal.timeout(LIMIT_MS);
    const program = { argv, cwd, env, isContained: true, stdin: 'none', output: 'merged' } as const;
    const child = await children.start(program, signal ? AbortSignal.any([signal, late]) : late);
    try {
      const pieces: Buffer[] = [];
      let length = 0;
      for await (const piece of child.stdout) {
        if (length < MOST) pieces.push(piece as Buffer);
        length += (piece as Buffer).length;
      }
      const { code } = await child.exited;
      return { code, output: Buffer.concat(pieces).toString() };
    } finally {
      await child.close();
    }
  };
}
