// Cancellation: small tools around AbortSignal that leave no listener behind.

import { AppError } from './errors.ts';

/** Throws the signal's reason as a *cancelled* error if it has been aborted. */
export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw cancelledBy(signal);
}

export function cancelledBy(signal: AbortSignal): AppError {
  return signal.reason instanceof AppError
    ? signal.reason
    : new AppError('cancelled', 'cancelled', {}, { cause: signal.reason });
}

/** What waits for each signal: one listener does for all, and Node warns of a leak where there are more than ten. */
const waiting = new WeakMap<AbortSignal, Set<{ readonly work: () => void }>>();

/** Runs `work` once when the signal aborts, at once if it has; the returned function takes the listener away. */
export function onAbort(signal: AbortSignal, work: () => void): () => void {
  if (signal.aborted) {
    work();
    return () => {};
  }
  const known = waiting.get(signal);
  const all = known ?? new Set();
  if (!known) {
    waiting.set(signal, all);
    signal.addEventListener('abort', runAll, { once: true });
  }
  const entry = { work };
  all.add(entry);
  return () => {
    all.delete(entry);
    if (all.size > 0 || waiting.get(signal) !== all) return;
    waiting.delete(signal);
    signal.removeEventListener('abort', runAll);
  };
}

function runAll({ target }: Event): void {
  const signal = target as AbortSignal;
  const all = waiting.get(signal) ?? [];
  waiting.delete(signal);
  for (const { work } of all)
    try {
      work();
    } catch (error) {
      // As with listeners of their own: an error of one is nothing to the others.
      queueMicrotask(() => {
        throw error;
      });
    }
}

/** Settles as `promise` does, or rejects as *cancelled* as soon as the signal aborts. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    promise.catch(() => {});
    return Promise.reject(cancelledBy(signal));
  }
  return new Promise<T>((resolve, reject) => {
    const off = onAbort(signal, () => reject(cancelledBy(signal)));
    promise.then(resolve, reject).finally(off);
  });
}

export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

export function deferred<T = void>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
