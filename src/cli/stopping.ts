// Why a server ends: a signal, the end of its input, or a fault. The first reason counts.

import { messageOf } from '../base/errors.ts';
import { deferred } from '../base/signals.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

export interface StopReason {
  /** For people. */
  readonly text: string;
  readonly code: ExitCode;
}

export interface Stopping {
  /** Never rejects. */
  readonly reason: Promise<StopReason>;
  readonly isRequested: () => boolean;
  request(text: string): void;
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Listens to the process until it ends: later signals change nothing about an end that has begun. */
export function watchForStop(say: (text: string) => void): Stopping {
  const first = deferred<StopReason>();
  let isRequested = false;
  const stop = (reason: StopReason) => {
    isRequested = true;
    first.resolve(reason);
  };
  for (const signal of SIGNALS) process.on(signal, () => stop({ text: `received ${signal}`, code: EXIT.done }));
  const fault = (error: unknown) => {
    say(`a defect: ${(error instanceof Error && error.stack) || messageOf(error)}`);
    stop({ text: 'a defect, see above', code: EXIT.failed });
  };
  process.on('uncaughtException', fault);
  process.on('unhandledRejection', (error) => {
    if (isFailedCommit(error)) say(`the store could not write: ${messageOf(error)}`);
    else fault(error);
  });
  return {
    reason: first.promise,
    isRequested: () => isRequested,
    request: (text) => stop({ text, code: EXIT.done }),
  };
}

/** A commit that fails rejects the promise of whoever asked for it, and one more that nobody holds. */
function isFailedCommit(error: unknown): boolean {
  return error instanceof Error && (error.message.startsWith('Commit failed') || STORE_ERRORS.test(error.message));
}

const STORE_ERRORS = /MDB_|No space left on device|Input\/output error/;
