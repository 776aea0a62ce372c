// Reading on after the exit of a program until its output has ended, or somebody else proves to hold it.

import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { deferred } from '../base/signals.ts';

/** How long a pipe is read after the exit while something else still holds it. */
const DRAIN_MS = 200;

/** As much as a pipe can hold. */
const PIPE_BYTES = 1024 * 1024;

/**
 * Settles when all of `ends` have, with false; or after a while, with true: something else holds one of the streams. Everything
 * that was in them at the exit has been read then. The streams have to flow.
 */
export async function drained(
  ends: readonly Promise<void>[],
  streams: readonly Readable[],
  clock: Clock,
): Promise<boolean> {
  const timeUp = deferred<true>();
  const cancel = clock.timer(DRAIN_MS, () => timeUp.resolve(true));
  const ended = Promise.all(ends).then(() => false);
  const isLate = await Promise.race([ended, timeUp.promise]);
  cancel();
  // On a busy machine the time may be up before this process has had a look at the streams.
  return isLate && (await Promise.race([ended, emptied(streams).then(() => true)]));
}

/** Until a look finds nothing more to read; what is printed for ever was not all there at the exit. */
async function emptied(streams: readonly Readable[]): Promise<void> {
  let bytes = 0;
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
  };
  for (const each of streams) each.on('data', count);
  for (let before = -1; before < bytes && bytes < PIPE_BYTES; ) {
    before = bytes;
    await nextTurn();
  }
  for (const each of streams) each.off('data', count);
}
