// The helper program that ends our children when this process is killed and can no longer do it itself.

import { type ChildProcess, spawn } from 'node:child_process';
import { type Closable, closeOnce } from '../base/close.ts';
import { MARK_VARIABLE } from './processes.ts';
import { WATCHDOG_SOURCE } from './watchdog-source.ts';

export interface Watchdog extends Closable {
  /** Makes sure that the helper runs; to be called before a child is started. */
  wake(): void;
  /** Also ends the group and session of this child, whatever became of its environment. */
  guard(pid: number, started: string | undefined): void;
  /** The tree of this child has ended; its pid may be given to others now. */
  release(pid: number): void;
}

/** Milliseconds after which the helper learns what has ended. */
const FAREWELL_MS = 100;

/**
 * The helper is started at first need, in a session of its own, and holds the other end of a pipe. When that pipe ends without a
 * farewell it ends every process whose mark begins with `markPrefix`, and the guarded ones, within 5 s, and exits.
 */
export function createWatchdog(markPrefix: string): Watchdog {
  const guarded = new Map<number, string>();
  let helper: ChildProcess | undefined;

  let farewells = '';
  let isTelling = false;

  const tell = (line: string) => {
    helper?.stdin?.write(`${farewells}${line}\n`);
    farewells = '';
  };

  /** What has ended can wait for the next message: each is a wake-up of the helper. */
  const tellSoon = (line: string) => {
    farewells += `${line}\n`;
    if (isTelling) return;
    isTelling = true;
    setTimeout(() => {
      isTelling = false;
      if (farewells !== '') helper?.stdin?.write(farewells);
      farewells = '';
    }, FAREWELL_MS).unref();
  };

  function wake(): void {
    if (helper) return;
    const started = spawn(process.execPath, ['-e', WATCHDOG_SOURCE, MARK_VARIABLE, markPrefix], {
      cwd: '/',
      env: {},
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const gone = () => {
      if (helper === started) helper = undefined; // the next child starts another one
    };
    started.once('exit', gone);
    started.once('error', gone);
    started.stdin.on('error', gone);
    // It must not keep this process alive.
    started.unref();
    (started.stdin as unknown as { unref(): void }).unref();
    helper = started;
    farewells = '';
    for (const [pid, start] of guarded) tell(`+${pid} ${start}`);
  }

  return {
    wake,
    guard(pid, started) {
      guarded.set(pid, started ?? '');
      tell(`+${pid} ${started ?? ''}`);
    },
    release(pid) {
      guarded.delete(pid);
      tellSoon(`-${pid}`);
    },
    close: closeOnce(async () => {
      const last = helper;
      if (!last || last.exitCode !== null || last.pid === undefined) return;
      last.ref();
      const gone = new Promise<void>((resolve) => last.once('exit', () => resolve()));
      last.stdin?.end('farewell\n');
      await gone;
    }),
  };
}
