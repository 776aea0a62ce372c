// When a connection that has failed is made anew: at the next use, and the later the oftener it has failed.

/** How one connection has ended. */
export interface Failure {
  /** When, in monotonic milliseconds. */
  readonly atMs: number;
  /** How long it was ready before, in milliseconds; undefined: it never was. */
  readonly readyMs: number | undefined;
  /** Connections in its place before it that failed, one after the other. */
  readonly earlier: number;
}

/** Of one that has failed; doubled with each further one. */
const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 60_000;
/** Whoever was ready for so long has not failed again: it has failed. */
const STEADY_MS = 60_000;

/** How many have failed in a row before this one. */
const rowBefore = ({ earlier, readyMs }: Failure): number => ((readyMs ?? 0) >= STEADY_MS ? 0 : earlier);

/** How many have failed in a row, for the connection that takes its place. */
export const failuresInRow = (failure: Failure): number => rowBefore(failure) + 1;

/** From when on it may be tried again, in monotonic milliseconds: at once where it was there and had not failed before. */
export function retryAtMs(failure: Failure): number {
  const before = rowBefore(failure);
  if (before === 0 && failure.readyMs !== undefined) return failure.atMs;
  return failure.atMs + Math.min(FIRST_WAIT_MS * 2 ** before, LONGEST_WAIT_MS);
}
