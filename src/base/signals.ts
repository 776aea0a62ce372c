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

/** Runs `work` once when the signal aborts, at once if it has; the returned function takes the listener away. */
export function onAbort(signal: AbortSignal, work: () => void): () => void {
  if (signal.aborted) {
    work();
    return () => {};
  }
  signal.addEventListener('abort', work, { once: true });
  return () => signal.removeEventListener('abort', work);
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
