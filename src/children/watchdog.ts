// The helper program that starts most of our children, and ends all of them when this process is killed and no longer can.

import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { type Closable, closeOnce } from '../base/close.ts';
import type { Log } from '../base/log.ts';
import { covering, withNothing } from './descriptors.ts';
import type { Launched, StartElsewhere } from './launch.ts';
import { type LimitMark, libraryOfCalls } from './limit.ts';
import { MARK_VARIABLE } from './marks.ts';
import { Orders } from './orders.ts';
import { WATCHDOG_SOURCE } from './watchdog-source.ts';

export interface Watchdog extends Closable {
  /** Makes sure that the helper runs; to be called before a child is started. */
  wake(): void;
  /** Also ends the group and session of this child, whatever became of its environment. */
  guard(child: Pick<Launched, 'pid' | 'started' | 'isGuarded'>): void;
  /**
   * Starts a program from the helper, whose memory is small: what a fork takes grows with the memory of the process, and stops it
   * that long. Undefined while the helper is not ready, or cannot reach our descriptors.
   */
  readonly start: StartElsewhere;
  /** The tree of this child has ended; its pid may be given to others now. */
  release(pid: number): void;
}

export interface WatchdogParts {
  /** Descriptors of ours that the helper must not have. */
  readonly covered: ReadonlySet<number>;
  /** Told when the helper cannot do the same. */
  readonly limitMark: Pick<LimitMark, 'missing'>;
  readonly log: Log;
}

/** Milliseconds after which the helper learns what has ended. */
const FAREWELL_MS = 100;

/** What it costs to fork the helper is a matter of its memory. */
const SMALL = ['--max-semi-space-size=1', '--v8-pool-size=0'];

/**
 * The helper is started at first need, in a session of its own, and holds the other end of a pipe. When that pipe ends without a
 * farewell it ends every process whose mark begins with `markPrefix`, and the guarded ones, within 5 s, and exits.
 */
export function createWatchdog(markPrefix: string, { covered, limitMark, log }: WatchdogParts): Watchdog {
  const guarded = new Map<number, string>();
  let helper: ChildProcess | undefined;
  let orders: Orders | undefined;
  let farewells = '';
  let isTelling = false;

  const tell = (line: string) => {
    helper?.stdin?.write(`${farewells}${line}\n`);
    farewells = '';
  };

  const tellNow = () => {
    if (farewells !== '') helper?.stdin?.write(farewells);
    farewells = '';
  };

  /** What has ended can wait for the next message: each is a wake-up of the helper. */
  const tellSoon = (line: string) => {
    farewells += `${line}\n`;
    if (isTelling) return;
    isTelling = true;
    setTimeout(() => {
      isTelling = false;
      tellNow();
    }, FAREWELL_MS).unref();
  };

  function wake(): void {
    if (helper) return;
    const args = [...SMALL, '-e', WATCHDOG_SOURCE, MARK_VARIABLE, markPrefix, libraryOfCalls() ?? ''];
    const started = withNothing((nothing) =>
      spawn(process.execPath, args, {
        cwd: '/',
        env: {},
        detached: true,
        // What it does not have, what it starts cannot have either.
        stdio: covering(['pipe', 'pipe', 'ignore'], covered, nothing),
      }),
    );
    const [input, output] = [started.stdin as Writable, started.stdout as Readable];
    const given = new Orders(input, output, { goOn: () => started.kill('SIGCONT'), unmarked: limitMark.missing, log });
    const gone = () => {
      given.stop();
      if (helper === started) helper = undefined; // the next child starts another one
    };
    started.once('exit', gone);
    started.once('error', gone);
    input.on('error', gone);
    // Not before all is read that it has told.
    started.once('close', () => given.gone());
    // It must not keep this process alive.
    started.unref();
    (input as unknown as { unref(): void }).unref();
    helper = started;
    orders = given;
    farewells = '';
    for (const [pid, start] of guarded) tell(`+${pid} ${start}`);
  }

  return {
    wake,
    start(order) {
      if (!orders?.isReady) return undefined;
      tellNow(); // a pid of which it hears later that it is free may be that of this program
      return orders.start(order);
    },
    guard({ pid, started = '', isGuarded }) {
      guarded.set(pid, started);
      if (!isGuarded) tell(`+${pid} ${started}`);
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
      last.kill('SIGCONT'); // what it has started may have stopped it
      await gone;
    }),
  };
}
