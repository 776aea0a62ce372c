// Starting programs with a mark in a limit of the system: a new session, a cleared environment and another parent do not take it away.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { AppError, messageOf } from '../base/errors.ts';
import { once } from '../base/lazy.ts';
import type { Log } from '../base/log.ts';
import { limitOf, markInLimits } from './marks.ts';

/** The soft and the hard limit of this process; both as they are or shall be. True: the system did it. */
export interface SystemLimit {
  get(both: BigUint64Array): boolean;
  set(both: BigUint64Array): boolean;
}

export interface LimitMark {
  /**
   * Runs `start`, which forks before it returns: what it forks carries the mark, and nothing else does. Where that cannot be it
   * starts without, and the log says so once. Throws what `start` throws.
   */
  around<Result>(mark: string, start: () => Result): Result;
  /** Somebody else who marks for us cannot. */
  missing(reason: string): void;
}

/** `RLIMIT_RTTIME` of Linux. It concerns real-time threads only, and everybody may read everybody's. */
const LIMIT = 15;
/** Where the system takes two whole numbers of 64 bits. */
const WIDE: ReadonlySet<string> = new Set(['x64', 'arm64', 'riscv64', 'loong64', 'ppc64']);

/** Whether this system can have the mark at all. */
export const canMark = (): boolean => process.platform === 'linux' && WIDE.has(process.arch);

/** The library that calls the system, for a process that does not know where we lie; undefined: there is none. */
export function libraryOfCalls(): string | undefined {
  try {
    return canMark() ? createRequire(import.meta.url).resolve('koffi') : undefined;
  } catch {
    return undefined;
  }
}

/** What of the library is used. */
interface Calls {
  load(library: null): { func(declaration: string): (limit: number, both: BigUint64Array) => number };
}

/** Takes some ten milliseconds. Throws where it cannot be loaded. */
function loadSystemLimit(): SystemLimit {
  if (!canMark()) throw new AppError('unavailable', `not on ${process.platform} ${process.arch}`);
  const system = (createRequire(import.meta.url)('koffi') as Calls).load(null);
  const [get, set] = ['getrlimit', 'setrlimit'].map((name) => system.func(`int ${name}(int, void*)`));
  return { get: (both) => get?.(LIMIT, both) === 0, set: (both) => set?.(LIMIT, both) === 0 };
}

const readLimits = (): string => readFileSync('/proc/self/limits', 'latin1');

/** Nothing is loaded before the first start. */
export function createLimitMark(log: Log, load = loadSystemLimit, limits = readLimits): LimitMark {
  let hasWarned = false;

  const missing = (reason: string): void => {
    if (hasWarned) return;
    hasWarned = true;
    log.warn(
      { reason },
      'programs cannot be marked for good: one outside the sandbox that leaves session, environment and parent behind is not found again',
    );
  };

  /** Sets the soft limit to the mark, and takes it back. */
  const open = once((): { set(mark: string): boolean; reset(): void } | undefined => {
    try {
      const system = load();
      const own = new BigUint64Array(2);
      if (!system.get(own)) throw new AppError('unavailable', 'the limit cannot be read');
      const [, hard = 0n] = own;
      const reset = () => void system.set(own);
      const set = (mark: string) => system.set(new BigUint64Array([limitOf(mark) ?? 0n, hard]));
      try {
        if (!set(PROBE) || markInLimits(limits(), PROBE) !== PROBE)
          throw new AppError('unavailable', 'the limit cannot be set');
      } finally {
        reset();
      }
      return { set, reset };
    } catch (error) {
      missing(messageOf(error));
      return undefined;
    }
  });

  return {
    missing,
    around(mark, start) {
      const limit = limitOf(mark) === undefined ? undefined : open();
      if (!limit) return start();
      if (!limit.set(mark)) missing('the limit cannot be set any more');
      try {
        return start();
      } finally {
        limit.reset();
      }
    },
  };
}

/** Nobody's. */
const PROBE = `${'0'.repeat(24)}.${'0'.repeat(7)}`;
