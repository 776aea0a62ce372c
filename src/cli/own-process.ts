// This program again, in a process of its own: for work that could end the process that does it.

import { spawn } from 'node:child_process';

export interface OwnProcess {
  readonly code: number | null;
  /** Set when it did not end by itself. */
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `heddle` with these arguments to its end; what it says is passed on as well if `isShown`. */
export function runOwn(args: readonly string[], isShown: boolean): Promise<OwnProcess> {
  const entry = process.argv[1] as string;
  const child = spawn(process.execPath, [...process.execArgv, entry, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] = (said[name] + text).slice(-MOST_KEPT);
      if (isShown) process[name].write(text);
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, ...said }));
  });
}

const MOST_KEPT = 64 * 1024;
